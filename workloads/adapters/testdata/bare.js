// A bare loop over the lock of ../javascript/lock.js: bare.js URL CLIENTS WARM SECONDS prints how many operations SECONDS had, after WARM.
//
// Each client has a connection and tries one of 5 locks after the other, as a client of doublegrant's load does.
const { createClient } = require('redis')

const RELEASE = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0'
const [url, clients, warm, seconds] = [process.argv[2], ...process.argv.slice(3).map(Number)]
const sleep = ms => new Promise(resolve => setTimeout(resolve, ms))
let count = 0

async function loop (i) {
  const redis = createClient({ url })
  await redis.connect()
  for (let attempt = 0; ; attempt++) {
    const key = `bare-${Math.floor(Math.random() * 5)}`
    const owner = `${process.pid}-${i}-${attempt}`
    const granted = await redis.set(key, owner, { NX: true, PX: 1337 }) === 'OK'
    count++
    if (granted) {
      await sleep(5)
      await redis.eval(RELEASE, { keys: [key], arguments: [owner] })
      count++
    }
  }
}

async function main () {
  for (let i = 0; i < clients; i++) loop(i)
  await sleep(warm * 1000)
  const before = count
  const began = Date.now()
  await sleep(seconds * 1000)
  console.log((count - before) / ((Date.now() - began) / 1000))
  process.exit()
}
main()
