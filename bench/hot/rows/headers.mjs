// What a hop costs in headers: all of them read on the way in, from a request as Node hands it out, and written on the way on.

const incoming = () => ({
  host: 'stock.internal:8080',
  'user-agent': 'orders/4.2',
  accept: 'application/json',
  'accept-encoding': 'gzip, br',
  'content-type': 'application/json',
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  'x-request-id': 'a3f1c2d4-77aa-4c11-9f00-0011aabbccdd',
  'x-floodwall-timeout-ms': '873',
  'x-floodwall-criticality': 'SHEDDABLE_PLUS',
  'x-floodwall-attempt': '1',
  'x-floodwall-attempts': '118,9,1',
})

export const headers = [
  {
    name: 'headers of a hop, read and written',
    shape: 'value',
    async make(floodwall) {
      const { pipeline } = await floodwall()
      const { readInbound, writeOutbound } = await import('floodwall/wire')
      const options = { trusted: true, mostMs: 60_000, criticalPlus: false }
      let onward
      await pipeline('orders', []).call((call) => void (onward = call), {
        within: 3_600_000,
        criticality: 'sheddablePlus',
      })
      // Some requests, so that none of their strings is known beforehand.
      const requests = Array.from({ length: 64 }, incoming)
      const margin = { marginMs: 5 }
      let i = 0
      return () => {
        const headers = requests[(i = (i + 1) & 63)]
        const inbound = readInbound((name) => headers[name], options)
        const out = {}
        writeOutbound(onward, margin, (name, value) => {
          out[name] = value
        })
        return inbound.within === 873 ? out : undefined
      }
    },
  },
]
