import { readFileSync } from 'node:fs'
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { exitCodes } from './exit-codes.ts'
import { logLevels } from './gateway/log.ts'
import type { GatewayOptions } from './gateway/run.ts'

// The command line. Each command is loaded when it is called: a gateway does not wait for the demo.

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

let exitCode: number = exitCodes.fine

const program = new Command('floodwall')
  .description(
    'Keeps a service available when its callers send too much and when what it depends on is slow or broken.',
  )
  .version(version)
  .showHelpAfterError('(floodwall --help tells more)')
  .exitOverride()

const seconds = (text: string): number => {
  const value = Number(text)
  if (text.trim() !== '' && value > 0 && value <= 3600) return value
  throw new InvalidArgumentError('Expected a number of seconds, above 0 and at most 3600.')
}

const collect = (value: string, before: string[] = []): string[] => [...before, value]

program
  .command('gateway')
  .description('stands in front of one or more HTTP servers')
  .option('--listen <host:port>', 'where clients connect (default: 127.0.0.1:8080)')
  .option('--admin <host:port>', 'where operators read, or unix:/path (default: 127.0.0.1:9090)')
  .option('--upstream <url>', 'a server behind the gateway; say it once for each', collect)
  .option('--timeout <span>', 'from a request to the first byte of its answer, for each attempt (default: 100ms)')
  .option('--config <file>', 'settings as YAML or JSON; the options here override it')
  .option('--drain <span>', 'how long requests may finish after SIGTERM (default: 10s)')
  .option('--drain-delay <span>', 'how long after SIGTERM new connections are taken (default: 1s)')
  .option('--check', 'only look at the settings: exit code 0, or the faults and 2')
  .option('--no-watch', 'reload at SIGHUP only, and not when a file changes')
  .addOption(new Option('--log-level <level>', 'how much to log').choices(logLevels).default('info'))
  .addHelpText(
    'after',
    `
Examples:
  $ floodwall gateway --upstream http://127.0.0.1:3000
  $ floodwall gateway --listen 0.0.0.0:80 --upstream http://10.0.0.1:3000 --upstream http://10.0.0.2:3000
  $ floodwall gateway --config gateway.yaml --log-level debug
  $ floodwall gateway --config gateway.yaml --check

SIGTERM ends it when its requests have finished, and so does SIGINT, which waits for no balancer; a second one ends it at once. SIGHUP, or
a change of its files, makes it read its settings again.

Exit codes: 0 it ended, and nothing was cut; 1 it could not listen, or requests were cut; 2 settings that make no sense.`,
  )
  .action(async (options: GatewayOptions) => {
    const { runGateway } = await import('./gateway/run.ts')
    exitCode = await runGateway(options)
  })

program
  .command('demo')
  .description('shows real servers under load and faults, bare and behind the gateway')
  .option('--seconds <n>', 'of each phase (default: 7)', seconds)
  .option('--plain', 'lines instead of a picture')
  .addHelpText('after', '\nExamples:\n  $ floodwall demo\n  $ floodwall demo --seconds 3 --plain')
  .action(async (options: { seconds?: number; plain?: boolean }) => {
    const { runDemo } = await import('./demo/demo.ts')
    exitCode = await runDemo(options)
  })

try {
  await program.parseAsync()
} catch (error) {
  if (!(error instanceof CommanderError)) throw error
  // Help and version are no errors; everything else is something that makes no sense.
  exitCode = error.exitCode === 0 ? exitCodes.fine : exitCodes.misused
}
process.exit(exitCode)
