import { type ClientRequest, request as plain } from 'node:http'
import { request as secure } from 'node:https'
import { targetOf } from './address.ts'
import type { Prober } from './prober.ts'

/** Nobody's health is told in longer headers. */
const HEADER_BYTES = 16_384

const HEADERS = { connection: 'close', accept: '*/*', 'user-agent': 'floodwall-check' }

/**
 * Well is who answers `GET path` with 2xx and sends the body to its end, or its first `maxBody` bytes; a redirect is not followed. Each check
 * has a connection of its own: it also sees a server that has stopped to accept.
 */
export function checkHttp(path: string, maxBody: number): Prober {
  return (endpoint, signal) =>
    new Promise<void>((resolve, reject) => {
      const { secure: tls, host, port } = targetOf(endpoint)
      const options = { host, port, path, signal, agent: false as const, headers: HEADERS, maxHeaderSize: HEADER_BYTES }
      const request: ClientRequest = tls ? secure(options) : plain(options)
      const end = (fault?: Error) => {
        if (fault === undefined) resolve()
        else reject(fault)
        request.destroy()
      }
      request.on('socket', (socket) => void socket.unref())
      request.on('error', end)
      request.on('response', (response) => {
        const { statusCode = 0 } = response
        if (statusCode < 200 || statusCode > 299) return end(new Error(`status ${statusCode}`))
        let bytes = 0
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes >= maxBody) end()
        })
        response.on('end', () => end())
        response.on('error', end)
      })
      request.end()
    })
}
