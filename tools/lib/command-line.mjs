const COMMANDS = new Set(['gateway', 'demo', 'check', 'help', '--help', '-h', '--version', '-V'])

/**
 * What `npm start` means: the demo with no arguments, a command as it stands, and otherwise the gateway with these options.
 *
 * @param {readonly string[]} args
 * @returns {readonly string[]}
 */
export function commandLine(args) {
  const [first] = args
  if (first === undefined) return ['demo']
  return COMMANDS.has(first) ? args : ['gateway', ...args]
}
