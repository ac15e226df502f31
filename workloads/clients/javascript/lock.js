// A lock in JavaScript (node-redis) for doublegrant: doublegrant explore -- node lock.js
//
// To test your own lock, change the class Lock. The rest speaks the protocol of ../README.md.
const { createClient } = require('redis')

const RELEASE = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0'
const EXTEND = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0'

// The lock of one client. Each method returns whether it was done, and throws if nobody knows.
class Lock {
  static can = ['acquire', 'extend', 'release']

  constructor (redis) { this.redis = redis }

  // try once; owner is a token that nobody else has
  async acquire ({ key, owner, ttl_ms }) {
    return await this.redis.set(key, owner, { NX: true, PX: ttl_ms }) === 'OK'
  }

  async extend ({ key, owner, ttl_ms }) {
    return await this.redis.eval(EXTEND, { keys: [key], arguments: [owner, String(ttl_ms)] }) === 1
  }

  async release ({ key, owner }) {
    return await this.redis.eval(RELEASE, { keys: [key], arguments: [owner] }) === 1
  }
}

const say = answer => process.stdout.write(JSON.stringify(answer) + '\n')
const clients = new Map() // promises of their connections, by number
let init

// connect opens a client's connection. node-redis opens it anew where it closes; what was under way then fails.
async function connect () {
  const redis = createClient({ url: init.redis })
  redis.on('error', () => {})
  await redis.connect()
  return redis
}

async function operate (r) {
  if (!clients.has(r.client)) clients.set(r.client, connect())
  const connection = clients.get(r.client)
  let timer
  const late = new Promise((_resolve, reject) => {
    if (init.timeout_ms) timer = setTimeout(reject, init.timeout_ms, new Error('no answer in time'))
  }).catch(e => {
    clients.delete(r.client) // its answer may still come, and must not be taken for another's
    connection.then(redis => redis.disconnect()).catch(() => {})
    throw e
  })
  try {
    say({ id: r.id, ok: await Promise.race([connection.then(redis => new Lock(redis)[r.do](r)), late]) })
  } catch (e) {
    say({ id: r.id, info: String(e) })
  } finally {
    clearTimeout(timer)
  }
}

require('readline').createInterface({ input: process.stdin }).on('line', line => {
  const r = JSON.parse(line)
  if (r.do === 'init') {
    init = r
    say({ id: r.id, ok: true, version: 1, can: Lock.can, symmetric: true })
  } else if (r.do === 'reset') {
    say({ id: r.id, ok: true })
  } else {
    operate(r)
  }
}).on('close', () => process.exit())
