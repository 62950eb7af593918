// The command line alone: help, completion, wrong input, no server.
import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CommandLine, hasTerminal, openCommandLine, quoted } from '../support/run/command-line.ts'
import { inFullRun, isFullRun } from '../support/run/run-length.ts'
import { someOf } from '../support/world/walk.ts'

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
  'backup',
  'cdrs',
  'compare',
  'completion',
  'distribute',
  'edge',
  'events',
  'export',
  'import',
  'login',
  'logout',
  'move',
  'numbers',
  'restore',
  'verify',
]
const groups: Record<string, string[]> = {
  accounts: ['list', 'tree', 'show', 'create'],
  numbers: ['list', 'search', 'buy', 'localities', 'pool'],
  cdrs: ['list', 'export', 'import', 'archive', 'drop'],
  tasks: ['list', 'show', 'start', 'watch', 'create'],
}

const hasShell = (name: string) => spawnSync(name, ['-c', 'true']).status === 0

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
      const { status, output, errors } = await person.here(...args)
      expect({ status, errors }).toEqual({ status: 0, errors: '' })
      for (const name of [...commands, 'demo', 'openapi', 'serve', 'tasks'])
        expect(output).toMatch(new RegExp(`^ {2}${name} `, 'm'))
    }
  })

  it('says how each command is called', async () => {
    for (const [group, names] of Object.entries(groups)) {
      const { status, output } = await person.here(group)
      expect(status).toBe(0)
      for (const name of names) expect(output).toContain(`crosspoint ${group} ${name}`)
    }
    const { output } = await person.here('help', 'numbers', 'buy')
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
    for (const [group, names] of someOf(1, Object.entries(groups)))
      expect((await offered(group, '')).sort()).toEqual(names.sort())
    expect(await offered('accounts', 'list', '--a')).toEqual(['--account', '--all'])
    expect(await offered('login', '--pass')).toEqual(['--password-stdin'])
  })

  it.each(['bash', 'zsh', 'fish'])('is printed for %s', async (shell) => {
    const { status, output, errors } = await person.here('completion', shell)
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

  it('takes PowerShell for no shell that it knows', async () => {
    expect(await offered('completion', '')).toEqual(['bash', 'zsh', 'fish'])
    expect(await person.here('completion', 'powershell')).toMatchObject({ status: 2, output: '' })
  })

  /** The completions that bash offers for the words of a line, the last of which is being typed. */
  const replies = async (...words: string[]) => {
    const lines = [
      'source <(crosspoint completion bash)',
      `COMP_WORDS=(crosspoint ${words.map(quoted).join(' ')}) COMP_CWORD=${words.length}`,
      '$(complete -p crosspoint | grep -o "__\\w*")',
      `printf '%s\\n' "\${COMPREPLY[@]}"`,
    ]
    const { output, ...ended } = await person.shell(lines.join('\n'))
    expect(ended).toEqual({ status: 0, errors: '' })
    return output.split('\n').filter((line) => line !== '')
  }

  it('completes a line in a bash without bash-completion', async () => {
    expect(await replies('numbers', 's')).toEqual(['search'])
    expect(await replies('accounts', 'list', '--al')).toEqual(['--all'])
  })

  it('completes what bash takes apart', async () => {
    const profiles = dirname(person.profileFile())
    mkdirSync(profiles, { recursive: true })
    writeFileSync(person.profileFile('work'), '{"server": "http://127.0.0.1:1"}')
    expect(await replies('accounts', 'list', '--profile', '=', 'wo')).toEqual(['work'])
    expect(await replies('accounts', 'list', '--profile', '=')).toEqual(['work'])
    expect(await replies('accounts', 'list', '--profile=wo')).toEqual(['--profile=work'])
    expect(await replies('login', 'http', ':', '//127.0.0.1', ':', '8000', '--pass')).toEqual([
      '--password-stdin',
    ])
  })

  it('offers files whose names are commands so that they stay names', async () => {
    const names = ['$(touch hit)', 'a b', "it's", '\u001b[31mred']
    for (const name of names) writeFileSync(join(person.folder, name), '')
    const typed = `${person.folder}/`
    expect(await replies('cdrs', 'import', typed)).toEqual(
      ['\\$\\(touch\\ hit\\)', 'a\\ b', "it\\'s"].map((name) => `${typed}${name}`),
    )
    expect(await replies('cdrs', 'import', `'${typed}`)).toEqual([`${typed}a b`])
    expect(await replies('cdrs', 'import', `${typed}a\\ `)).toEqual([`${typed}a\\ b`])
  })

  const shells = [
    { shell: 'bash', program: 'bash --norc -i', prepared: [] },
    {
      shell: 'zsh',
      program: 'zsh -f -i',
      prepared: ['autoload -Uz compinit', 'compinit -u -d "$XDG_CONFIG_HOME/dump"'],
    },
    { shell: 'fish', program: 'fish --no-config -i', prepared: [] },
  ].filter(({ shell }) => hasTerminal && hasShell(shell))

  it.each(isFullRun ? shells : shells.slice(0, 1))(
    'runs nothing of a line in $shell',
    async ({ shell, program: started, prepared }) => {
      const hit = join(person.folder, 'hit')
      const file = person.asProgram()
      const source =
        shell === 'fish' ? 'crosspoint completion fish | source' : `source <(${file} completion ${shell})`
      const typed = person.inShell(started)
      for (const line of [...prepared, source]) typed.type(`${line}\n`)
      // The shell runs and calls the program: later steps must do no harm.
      typed.type('crosspoint numb\t')
      await typed.shows('crosspoint numbers')
      const hostile = [
        `'$(touch ${hit})'`,
        `$(touch ${hit})`,
        `\`touch ${hit}\``,
        `"\\$(touch ${hit})"`,
        `x;touch ${hit};`,
      ]
      for (const word of hostile) typed.type(`\u0015crosspoint api ${word} \t`)
      // Composed by the shell, so that the test does not match the typed text.
      typed.type("\u0015echo the'' end\n")
      await typed.shows('the end')
      expect(existsSync(hit)).toBe(false)
      typed.type('exit\n')
      await typed.ended
    },
  )
})

describe('what is called wrongly', () => {
  it.each([
    [['vanish'], "unknown command 'vanish'"],
    [['accounts', 'lst'], "unknown command 'lst'"],
    [['accounts', 'create'], "missing required argument 'NAME'"],
    [['accounts', 'list', '--limit', 'many'], 'Use a whole number.'],
    [['accounts', 'list', '--nonsense'], "unknown option '--nonsense'"],
    [['cdrs', 'list', '--from', 'yesterday'], 'Write a time as'],
    [['tasks', 'create', 'import'], 'Write it as category/action'],
    [['api', 'GET', '/x', '-q', 'novalue'], 'Write it as key=value.'],
    [['api', 'GET', '/x', '-F', 'a={'], 'The value must be JSON.'],
    [['openapi', 'more'], 'too many arguments'],
  ])('ends %j with 2, and says: %s', async (args, said) => {
    const { status, output, errors } = await person.here(...args)
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

  it('says that no user is signed in', async () => {
    const asked = [
      ['accounts', 'list'],
      ['events', '--follow'],
      ['api', 'GET', '/about'],
    ]
    for (const args of asked) {
      const errors = 'crosspoint: not signed in (profile default): run crosspoint login\n'
      expect(await person.here(...args)).toEqual({ status: 3, output: '', errors })
    }
    expect(await person.here('logout')).toMatchObject({ status: 0, output: '' })
  })

  it('says that the server is away', async () => {
    const url = await closedPort()
    const login = await person.hereWith('key', 'login', url, '--api-key')
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
    expect((await person.here('accounts', 'list')).errors).toBe(
      `crosspoint: ${file} is not a profile: remove the file and sign in again\n`,
    )
  })
})

// The bundle has the same tests in bundle.test.ts.
inFullRun(() => {
  const spy = `import { registerHooks } from 'node:module'
  registerHooks({ load(url, context, next) {
    process.stderr.write(url + ' ' + context.format + '\\n')
    return next(url, context)
  } })`

  /** Files that a program loads, and the module type of each. */
  const loadedBy = async (...args: string[]) => {
    const options = ['--import', `data:text/javascript,${encodeURIComponent(spy)}`]
    return (await promisify(execFile)(process.execPath, [...options, ...args])).stderr
  }

  const sources = new URL('../../src/crosspoint.mjs', import.meta.url).pathname

  let servedOnce: ReturnType<typeof loadedBy> | undefined
  const loadedByServer = () => {
    servedOnce ??= loadedBy(sources, 'serve', '--help')
    return servedOnce
  }

  it('loads for the server what Node itself would find', async () => {
    const folder = new URL('../../src/', import.meta.url)
    const filesIn = (text: string) => text.split('\n').filter((line) => line.startsWith('file:'))
    const served = filesIn(await loadedByServer())
    const isOfTheStart = (line: string) =>
      /\/src\/(crosspoint|compile-cache|own-imports)\.mjs /.test(line) ||
      line.includes('/src/commands/main.ts ')
    const found = await loadedBy(
      '--input-type=module',
      '--eval',
      `import '${new URL('commands/serve.ts', folder)}'`,
    )
    expect(served.filter((line) => !isOfTheStart(line)).toSorted()).toEqual(filesIn(found).toSorted())
  })

  it('keeps what reads command lines, and what few starts need, out of the server', async () => {
    const library = '/node_modules/commander/'
    expect(await loadedBy(sources, 'accounts', '--help')).toContain(library)
    const served = await loadedByServer()
    expect(served).toContain('/src/compose.ts')
    for (const folder of ['typebox/build/value', 'hyparquet', 'hyparquet-writer'])
      expect(served).not.toContain(`/node_modules/${folder}/`)
    for (const name of ['commander', '@clack', '@bomb.sh', 'fast-string-truncated-width', '@noble'])
      expect(served).not.toContain(`/node_modules/${name}/`)
    expect(served).not.toContain('/client/src/')
  })
})
