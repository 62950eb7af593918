// The command line by itself: help, completion, wrong input, no server.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CommandLine, openCommandLine, program } from '../support/command-line.ts'

let person: CommandLine

beforeEach(() => {
  person = openCommandLine()
})

afterEach(() => person.remove())

const commands = [
  'account',
  'accounts',
  'api',
  'audit',
  'cdrs',
  'completion',
  'events',
  'login',
  'logout',
  'numbers',
]
const groups: Record<string, string[]> = {
  accounts: ['list', 'tree', 'show', 'create'],
  numbers: ['list', 'search', 'buy', 'localities', 'pool'],
  cdrs: ['list', 'export', 'import', 'archive', 'drop'],
  tasks: ['list', 'show', 'start', 'watch', 'create'],
}

const offered = async (...words: string[]) => {
  const { output } = await person.run('complete', '--', ...words)
  return output
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith(':'))
    .map((line) => line.split('\t')[0])
}

describe('help', () => {
  it('lists all commands, on standard output', async () => {
    for (const args of [[], ['--help'], ['help']]) {
      const { status, output, errors } = await person.run(...args)
      expect({ status, errors }).toEqual({ status: 0, errors: '' })
      for (const name of [...commands, 'demo', 'openapi', 'serve', 'tasks'])
        expect(output).toMatch(new RegExp(`^ {2}${name} `, 'm'))
    }
  })

  it('says how each command is called', async () => {
    for (const [group, names] of Object.entries(groups)) {
      const { status, output } = await person.run(group)
      expect(status).toBe(0)
      for (const name of names) expect(output).toContain(`crosspoint ${group} ${name}`)
    }
    const { output } = await person.run('help', 'numbers', 'buy')
    expect(output).toMatch(/^Usage: crosspoint numbers buy NUMBER\.\.\.\n/)
    expect(output).toContain('--yes')
  })

  it('lists the settings of the server', async () => {
    expect((await person.run('serve', '--help')).output).toContain('CROSSPOINT_DATA_DIR')
  })
})

describe('completion', () => {
  it('knows commands, subcommands and options', async () => {
    expect((await offered('')).sort()).toEqual([...commands, 'demo', 'openapi', 'serve', 'tasks'].sort())
    expect(await offered('ac')).toEqual(['account', 'accounts'])
    for (const [group, names] of Object.entries(groups))
      expect((await offered(group, '')).sort()).toEqual(names.sort())
    expect(await offered('accounts', 'list', '--a')).toEqual(['--account', '--all'])
    expect(await offered('login', '--pass')).toEqual(['--password-stdin'])
  })

  it.each(['bash', 'zsh', 'fish'])('is printed for %s', async (shell) => {
    const { status, output, errors } = await person.run('completion', shell)
    expect({ status, errors }).toEqual({ status: 0, errors: '' })
    expect(output).toContain(`${shell} completion for crosspoint`)
  })

  it('offers files and profiles', async () => {
    const profiles = dirname(person.profileFile())
    mkdirSync(profiles, { recursive: true })
    writeFileSync(person.profileFile('work'), '{"server": "http://127.0.0.1:1"}')
    expect(await offered('accounts', 'list', '--profile', '')).toEqual(['work'])
    expect(await offered('cdrs', 'import', `${profiles}/`)).toEqual([`${profiles}/work.json`])
    expect(await offered('tasks', 'create', 'a/b', `${dirname(profiles)}/p`)).toEqual([`${profiles}/`])
    expect(await offered('cdrs', 'import', '/nowhere/')).toEqual([])
  })

  it('completes a line in a bash that has nothing but itself', async () => {
    const line = [
      'source <(crosspoint completion bash)',
      'compopt() { :; }',
      'COMP_WORDS=(crosspoint numbers s) COMP_CWORD=2',
      '$(complete -p crosspoint | grep -o "__\\w*")',
      'printf "%s\\n" $COMPREPLY',
    ].join('\n')
    expect(await person.shell(line)).toEqual({ status: 0, output: 'search\n', errors: '' })
  })
})

describe('what is called wrongly', () => {
  it.each([
    [['vanish'], "unknown command 'vanish'"],
    [['accounts', 'lst'], "unknown command 'lst'"],
    [['accounts', 'create'], "missing required argument 'NAME'"],
    [['accounts', 'list', '--limit', 'many'], 'A number is wanted.'],
    [['accounts', 'list', '--nonsense'], "unknown option '--nonsense'"],
    [['cdrs', 'list', '--from', 'yesterday'], 'A time is written as'],
    [['tasks', 'create', 'import'], 'It is written as category/action'],
    [['api', 'GET', '/x', '-q', 'novalue'], 'It is written as key=value.'],
    [['api', 'GET', '/x', '-F', 'a={'], 'The value has to be JSON.'],
    [['openapi', 'more'], 'too many arguments'],
  ])('ends %j with 2, and says: %s', async (args, said) => {
    const { status, output, errors } = await person.run(...args)
    expect({ status, output }).toEqual({ status: 2, output: '' })
    expect(errors).toMatch(/^crosspoint: /)
    expect(errors).toContain(said)
    expect(errors).toContain('Usage: crosspoint')
  })
})

describe('without a server', () => {
  const closedPort = async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    server.close()
    return `http://127.0.0.1:${port}`
  }

  it('says that nobody is signed in', async () => {
    const asked = [
      ['accounts', 'list'],
      ['events', '--follow'],
      ['api', 'GET', '/about'],
    ]
    for (const args of asked) {
      const errors = 'crosspoint: nobody is signed in as profile default: crosspoint login\n'
      expect(await person.run(...args)).toEqual({ status: 3, output: '', errors })
    }
    expect(await person.run('logout')).toMatchObject({ status: 0, output: '' })
  })

  it('says that the server is away', async () => {
    const url = await closedPort()
    const login = await person.runWith('key', 'login', url, '--api-key')
    expect(login).toEqual({
      status: 4,
      output: '',
      errors: 'crosspoint: the server cannot be reached (ECONNREFUSED)\n',
    })
  })

  it('says that a file is no profile, and leaves it there', async () => {
    const file = person.profileFile()
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, '{"server": ')
    expect((await person.run('accounts', 'list')).errors).toBe(
      `crosspoint: ${file} is no profile: remove it, and sign in anew\n`,
    )
  })
})

it('keeps what reads command lines out of the server', async () => {
  const spy = `import { registerHooks } from 'node:module'
    registerHooks({ load(url, context, next) { process.stderr.write(url + '\\n'); return next(url, context) } })`
  const options = ['--import', `data:text/javascript,${encodeURIComponent(spy)}`]
  const loadedBy = async (...args: string[]) =>
    (await promisify(execFile)(process.execPath, [...options, program, ...args])).stderr
  const library = '/node_modules/commander/'
  expect(await loadedBy('accounts', '--help')).toContain(library)
  const served = await loadedBy('serve', '--help')
  expect(served).toContain('/src/compose.ts')
  for (const name of ['commander', '@clack', '@bomb.sh', 'fast-string-truncated-width', '@noble'])
    expect(served).not.toContain(`/node_modules/${name}/`)
  expect(served).not.toContain('/client/src/')
})
