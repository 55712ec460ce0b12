// node server.mjs PORT UPSTREAM [MS_TO_THE_HEAD]
import { bareProxy } from './proxy.mjs'

const [port, upstream, ms = '30000'] = process.argv.slice(2)
bareProxy({ upstream, timeoutMs: Number(ms) }).listen(Number(port), '127.0.0.1')
