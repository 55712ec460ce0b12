// node server.mjs PORT UPSTREAM
import { bareProxy } from './proxy.mjs'

const [port, upstream] = process.argv.slice(2)
bareProxy({ upstream }).listen(Number(port), '127.0.0.1')
