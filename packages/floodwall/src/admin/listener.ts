import { createServer, type RequestListener, type Server } from 'node:http'

// A listener for operators stays reachable while somebody holds connections to it, and small: who is slow goes.

const limits = {
  maxHeaderSize: 8192,
  headersTimeout: 5000,
  requestTimeout: 5000,
  keepAliveTimeout: 5000,
  connectionsCheckingInterval: 1000,
}
const MOST_CONNECTIONS = 256
/** No byte in either direction; an answer may take {@link LONGEST_WAIT_MS}. */
const SILENCE_MS = 30_000
/** Less than the silence that ends a connection. */
export const LONGEST_WAIT_MS = 25_000

/** A server for `listener` that does not listen yet. Requests without `Host` come through: probes send them, and a {@link Door} refuses them. */
export function operatorsServer(listener: RequestListener): Server {
  const server = createServer({ requireHostHeader: false, insecureHTTPParser: false, ...limits }, listener)
  server.maxConnections = MOST_CONNECTIONS
  server.setTimeout(SILENCE_MS)
  return server
}

/** Ends everything that is connected. Twice is harmless. */
export async function endServer(server: Server): Promise<void> {
  server.closeAllConnections()
  if (server.listening) await new Promise<void>((resolve) => void server.close(() => resolve()))
}
