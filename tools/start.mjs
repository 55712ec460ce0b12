// npm start: the demo, or with arguments the gateway in front of your server (`npm start -- --upstream http://localhost:3000`).
// The script in package.json says `exec`, because a shell between npm and this process would keep signals to itself.
import { join } from 'node:path'
import { runInForeground } from './lib/child.mjs'
import { commandLine } from './lib/command-line.mjs'
import { build, root } from './lib/repository.mjs'

build()
runInForeground(process.execPath, [join(root, 'packages/cli/bin/floodwall.js'), ...commandLine(process.argv.slice(2))])
