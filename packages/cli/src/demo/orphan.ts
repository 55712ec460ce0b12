import { rmSync } from 'node:fs'

// Loaded into every child process of the demo before its own code (node --import). A parent that is killed cannot tidy up; but the
// system then closes the channel to its children, and that is their sign to leave and to take the temporary folder with them.

process.on('disconnect', leave)
if (!process.connected) leave()

// The listener above would keep the process alive; a gateway that has drained shall end as it always does.
process.channel?.unref()

function leave(): void {
  const folder = process.env['FLOODWALL_DEMO_FOLDER']
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  process.exit(0)
}
