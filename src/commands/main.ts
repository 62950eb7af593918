import { flushCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'

interface Command {
  run(args: readonly string[]): Promise<number>
}

// Imported when they are asked for.
const commands: Record<string, { summary: string; load(): Promise<Command> }> = {
  serve: {
    summary: 'run the server in the foreground',
    load: async () => (await import('./serve.ts')).serve,
  },
  account: {
    summary: 'let an admin of the master account in again',
    load: async () => (await import('./account.ts')).account,
  },
  cdrs: {
    summary: 'import, archive and drop call detail records',
    load: async () => (await import('./cdrs.ts')).cdrs,
  },
  numbers: {
    summary: 'import localities and pools of phone numbers',
    load: async () => (await import('./numbers.ts')).numbers,
  },
  audit: {
    summary: 'find what was altered in the audit',
    load: async () => (await import('./audit.ts')).audit,
  },
  openapi: {
    summary: 'print the OpenAPI 3.1 document',
    load: async () => (await import('./openapi.ts')).openapi,
  },
}

const usage = () =>
  [
    'Usage: crosspoint COMMAND [--help]',
    '',
    ...Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`),
  ].join('\n')

/** Runs a command line; answers with the status that the process ends with. */
export const main = async ([name = '', ...args]: readonly string[]): Promise<number> => {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command) {
    const loaded = await command.load()
    setFlagsFromString('--semi-space-growth-factor=2')
    // Written now and not at the end, which may be a kill -9.
    flushCompileCache()
    return loaded.run(args)
  }
  const asked = name === '' || name === 'help' || name === '--help'
  const out = asked ? process.stdout : process.stderr
  out.write(`${asked ? '' : `crosspoint: no command '${name}'\n\n`}${usage()}\n`)
  return asked ? 0 : 2
}
