#!/usr/bin/env node
import { openapi } from '../src/commands/openapi.ts'
import { serve } from '../src/commands/serve.ts'

const commands: Record<string, { summary: string; run: (args: readonly string[]) => Promise<number> }> = {
  serve,
  openapi,
}

const usage = () =>
  [
    'Usage: crosspoint COMMAND [--help]',
    '',
    ...Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`),
  ].join('\n')

const [name = '', ...args] = process.argv.slice(2)
const command = commands[name]
if (command) {
  process.exitCode = await command.run(args)
} else {
  const asked = name === '' || name === 'help' || name === '--help'
  ;(asked ? process.stdout : process.stderr).write(
    `${asked ? '' : `crosspoint: no command '${name}'\n\n`}${usage()}\n`,
  )
  process.exitCode = asked ? 0 : 2
}
