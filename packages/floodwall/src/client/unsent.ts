// Was anything sent before it failed?
//
// Who was refused a connection may go elsewhere whatever the method; and the endpoint that refused needs no statistics to be out. A promise can
// only reject, so the error has to say it: by its code, or because somebody has marked it.

/** Says by itself that no connection was made. Also Node's for names that do not resolve, and undici's. */
const NO_CONNECTION = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  // The request comes after the handshake.
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
])

/** We have no connection to give: nothing was sent, and it is no endpoint's fault. */
const OUR_OWN = new Set(['ECANCELED', 'EMFILE', 'ENFILE', 'ENOBUFS', 'EADDRNOTAVAIL', 'EADDRINUSE', 'EACCES', 'EPERM'])

const marked = new WeakSet<object>()

/**
 * Marks `error`: nothing was sent, so that the call may go to another endpoint, whatever it is, and this one counts as not to be reached.
 * Returns the same error, for `throw unsent(error)` in a work. What `fetch`, undici and node:net throw is known without a mark.
 */
export function unsent<E extends object>(error: E): E {
  marked.add(error)
  return error
}

/** What an error says about the connection: it was made (or who knows), it was not, or we had none to make. */
export function connectionOf(error: unknown): 'made' | 'none' | 'ours' {
  if (typeof error !== 'object' || error === null) return 'made'
  if (marked.has(error)) return 'none'
  try {
    const { code, syscall, cause } = error as { code?: unknown; syscall?: unknown; cause?: unknown }
    if (typeof code === 'string') {
      if (OUR_OWN.has(code)) return 'ours'
      return NO_CONNECTION.has(code) || syscall === 'connect' || everyConnectFailed(error) ? 'none' : 'made'
    }
    // What fetch throws has the reason inside.
    return cause === error ? 'made' : connectionOf(cause)
  } catch {
    // A getter of a stranger's error.
    return 'made'
  }
}

/** Several addresses of one name were tried. */
function everyConnectFailed(error: object): boolean {
  const { errors } = error as { errors?: unknown }
  return Array.isArray(errors) && errors.length > 0 && errors.every((e) => connectionOf(e) === 'none')
}
