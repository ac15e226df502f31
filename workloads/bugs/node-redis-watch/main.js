// A lock by WATCH and MULTI of node-redis, unmodified. Each client has a connection, which node-redis opens again by itself.
const readline = require('readline')
const { createClient, WatchError } = require('redis')

const RELEASE = 'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0'
const clients = new Map() // promises of their connections, by number
let init

async function connect () {
  const redis = createClient({ url: init.redis })
  redis.on('error', () => {}) // of a connection, which is opened again
  await redis.connect()
  return redis
}

const does = {
  async acquire (redis, { key, owner, ttl_ms }) {
    await redis.watch(key)
    const free = await redis.get(key) === null
    await new Promise(resolve => setTimeout(resolve, 20)) // what the program does meanwhile
    try {
      if (free) await redis.multi().set(key, owner, { PX: ttl_ms }).exec()
      else await redis.unwatch()
      return free
    } catch (e) {
      if (e instanceof WatchError) return false // another was faster
      throw e
    }
  },

  async release (redis, { key, owner }) {
    return await redis.eval(RELEASE, { keys: [key], arguments: [owner] }) === 1
  }
}

const say = answer => process.stdout.write(JSON.stringify(answer) + '\n')

async function operate (r) {
  if (!clients.has(r.client)) clients.set(r.client, connect())
  try {
    say({ id: r.id, ok: await does[r.do](await clients.get(r.client), r) })
  } catch (e) {
    say({ id: r.id, info: String(e) })
  }
}

readline.createInterface({ input: process.stdin }).on('line', line => {
  const r = JSON.parse(line)
  if (r.do === 'init') {
    init = r
    say({ id: r.id, ok: true, version: 1, can: Object.keys(does), symmetric: true })
  } else if (r.do === 'reset') {
    say({ id: r.id, ok: true })
  } else {
    operate(r)
  }
}).on('close', () => process.exit())
