package suite

// Deep is the flag -deep, for tests of the other package.
var Deep = deep
