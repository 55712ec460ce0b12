// What a Prometheus server does to the process under test: it asks for the metrics once a second.
import { once } from 'node:events'
import { get } from 'node:http'

const EVERY_MS = 1000

/** Begins at once; the answer ends it, and throws unless every scrape was answered. */
export function scrape(port) {
  let last = ask(port)
  const failures = []
  const timer = setInterval(() => {
    last = last.catch((error) => failures.push(error)).then(() => ask(port))
  }, EVERY_MS)
  return async () => {
    clearInterval(timer)
    await last.catch((error) => failures.push(error))
    if (failures.length > 0) throw new Error(`metrics on port ${port}: ${failures[0].message}`)
  }
}

async function ask(port) {
  const request = get({ port, host: '127.0.0.1', path: '/metrics', agent: false, timeout: 5000 })
  request.on('timeout', () => request.destroy(new Error('no answer within 5 s')))
  const [response] = await once(request, 'response')
  response.resume()
  await once(response, 'end')
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`)
}
