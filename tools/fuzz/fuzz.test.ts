import { createServer, request } from 'node:http'
import { connect, createServer as createTcp, type Server, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { caseOf } from './cases.mjs'
import { startGateway } from './gateway.mjs'
import type { Ledger } from './ledger.mjs'
import { fuzz, type Target } from './run.mjs'
import { requestsIn } from './strict.mjs'

// The fuzzer is only worth its findings: it must see what is wrong with a proxy that is, and nothing wrong with the gateway.

describe('cases', () => {
  test('are the same again, and others with another seed', () => {
    expect(caseOf(3, 17)).toEqual(caseOf(3, 17))
    expect(caseOf(3, 17).text).not.toBe(caseOf(4, 17).text)
  })

  const many = Array.from({ length: 2000 }, (_, number) => caseOf(1, number))

  test('are proper before they are changed', () => {
    for (const { text, clean } of many) if (clean) expect(requestsIn(text).wrong).toBeUndefined()
  })

  test('are of every kind', () => {
    expect(many.filter(({ clean }) => !clean).length).toBeGreaterThan(1000)
    expect(many.some(({ text }) => requestsIn(text).requests.length >= 8)).toBe(true)
    expect(many.some(({ pauseMs, cuts }) => pauseMs > 0 && cuts.length > 50)).toBe(true)
    expect(many.some(({ resets, leavesAt }) => resets && leavesAt >= 0)).toBe(true)
    const requests = many.flatMap(({ text }) => requestsIn(text).requests)
    expect(requests.some(({ minor }) => minor === 0)).toBe(true)
    expect(requests.some(({ upgrade }) => upgrade)).toBe(true)
  })
})

describe('finds what is wrong with', { timeout: 60_000 }, () => {
  test('a tunnel: the upstream gets everything as it came', async () => {
    const found = await kindsFound(['malformed', 'half'], async (upstreamPort) => {
      const server = createTcp((client) => {
        const upstream = connect(upstreamPort, '127.0.0.1')
        for (const [from, to] of [
          [client, upstream],
          [upstream, client],
        ] as const) {
          from.on('error', () => to.destroy()).on('close', () => to.destroy())
          from.pipe(to)
        }
      })
      return listening(server)
    })
    expect(found).toContain('malformed')
  })

  test('a proxy that ends what broke off, and repeats hop-by-hop lines', async () => {
    const found = await kindsFound(['half', 'hop-by-hop'], async (upstreamPort) => {
      const server = createServer((incoming, response) => {
        const { method = 'GET', url = '/', rawHeaders } = incoming
        const outgoing = request({
          port: upstreamPort,
          host: '127.0.0.1',
          method,
          path: url,
          headers: rawHeaders as never,
        })
        outgoing.on('error', () => response.destroy())
        outgoing.on('response', (answer) => {
          const {
            'transfer-encoding': _coding,
            'content-length': _length,
            trailer: _trailer,
            ...headers
          } = answer.headers
          response.writeHead(answer.statusCode ?? 502, headers)
          answer.on('data', (chunk) => response.write(chunk))
          answer.on('close', () => response.end())
          answer.on('error', () => {})
        })
        incoming.pipe(outgoing)
      })
      server.on('clientError', (_error, socket) => socket.destroy())
      return listening(server)
    })
    expect(found).toEqual(expect.arrayContaining(['half', 'hop-by-hop']))
  })
})

test('and nothing with the gateway, in 1,500 connections', { timeout: 120_000 }, async () => {
  const { findings, requests, answers } = await fuzz({
    seed: 7,
    enough: ({ cases }) => cases >= 1500,
    target: startGateway,
  })
  expect(findings).toEqual([])
  // It has been there, however slow the machine.
  expect(requests).toBeGreaterThan(300)
  expect(answers).toBeGreaterThan(150)
})

/** Until all that are looked for are found, or it is in vain. */
async function kindsFound(wanted: readonly string[], target: (port: number) => Promise<Target>): Promise<string[]> {
  const kinds = ({ findings }: Ledger): string[] => findings.map(({ kind }) => kind)
  const enough = (ledger: Ledger): boolean =>
    ledger.cases >= 1500 || wanted.every((kind) => kinds(ledger).includes(kind))
  return kinds(await fuzz({ seed: 1, enough, target, patienceMs: 200 }))
}

async function listening(server: Server): Promise<Target> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  return {
    port: (server.address() as { port: number }).port,
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
