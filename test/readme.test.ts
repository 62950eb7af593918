import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { removeDataDir, type ServerProcess, startServerProcess } from './support/servers/server-process.ts'
import { someOf } from './support/world/walk.ts'

const run = promisify(execFile)
const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const blocks = [...readme.matchAll(/```(\w*)\n([\s\S]*?)```/g)].map(([, kind, text]) => ({
  kind,
  text: text as string,
}))

let server: ServerProcess

beforeAll(async () => {
  server = await startServerProcess({ CROSSPOINT_ADMIN_PASSWORD: undefined })
})

afterAll(async () => {
  await server.end()
  removeDataDir(server)
})

const passwordShown = (by = server) => /password (\S+)/.exec(by.output())?.[1] as string

it('shows at the first start what the README says', () => {
  const shown =
    blocks
      .find(({ text }) => text.startsWith('First start'))
      ?.text.trim()
      .split('\n') ?? []
  const generic = (line: string) =>
    line
      .replace(/password \S+$/, 'password PASSWORD')
      .replace(/recovery=[0-9a-f]{42} /, 'recovery=ID ')
      .replace(/(http:..127.0.0.1):\d+/, '$1:PORT')
  const pattern = shown.map(generic)
  const lines = server.output().trim().split('\n').map(generic)
  expect(lines).toEqual(pattern)
})

it('runs the sign-in and the first sub-account of the README as printed', async () => {
  // As for its readers, the server is new: the stories change settings.
  const empty = await startServerProcess({ CROSSPOINT_ADMIN_PASSWORD: undefined })
  onTestFinished(async () => {
    await empty.end()
    removeDataDir(empty)
  })
  const script = blocks.find(({ kind, text }) => kind === 'sh' && text.includes('user_auth'))?.text as string
  const here = script
    .replace('the password that was shown', passwordShown(empty))
    .replaceAll('http://127.0.0.1:8000', empty.url)
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', here])
  const answer = JSON.parse(stdout) as { status: string; data: Record<string, unknown> }
  expect(answer.status).toBe('success')
  expect(answer.data).toMatchObject({
    enabled: true,
    is_reseller: false,
    name: 'Acme Telephones',
    realm: 'acme.example.com',
  })
})

it('shows the story of the first phone', async () => {
  const { stdout } = await run(process.execPath, ['examples/first-phone.mjs'], {
    env: { ...process.env, CROSSPOINT_URL: server.url, CROSSPOINT_ADMIN_PASSWORD: passwordShown() },
  })
  expect(stdout.trim().split('\n').at(-1)).toBe('Bob has signed in, and his phone is ready.')
})

it('says what to do where the client of the stories is not built', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'crosspoint-examples-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  cpSync(join(import.meta.dirname, '../examples'), join(folder, 'examples'), { recursive: true })
  const story = run(process.execPath, ['examples/first-phone.mjs'], { cwd: folder })
  await expect(story).rejects.toMatchObject({
    stderr: expect.stringContaining('The client is not built yet: `npm start`'),
  })
})

const stories = {
  'numbers in bulk': async () => {
    const { stdout } = await run(process.execPath, ['examples/bulk-numbers.mjs'], {
      env: { ...process.env, CROSSPOINT_URL: server.url, CROSSPOINT_ADMIN_PASSWORD: passwordShown() },
    })
    const told = stdout
      .trim()
      .replace(/\+1212\d{7}|1212\d{7}/g, (number) => (number.startsWith('+') ? '+N' : 'N'))
    expect(told.split('\n')).toEqual([
      'The operator has signed in.',
      'import: partial, 2 done, 3 failed',
      '  N: bad field(s) e164',
      '  +N: number +N already exists',
      '  +N: invalid account to assign to',
      'release: success, 1 done',
      'import: partial, 1 done, 2 failed',
      '  N: bad field(s) e164',
      '  +N: invalid account to assign to',
      'import: success, 2 done',
      'assign_to: success, 2 done',
      'import: success, 3 done',
      expect.stringMatching(/^Bob searches \d{7} and finds \+N and \+N\.$/),
      'Bob has bought +N. The bakery has 3 numbers.',
    ])
  },
  'a reseller who sells seats': async () => {
    const { stdout } = await run(process.execPath, ['examples/reseller-billing.mjs'], {
      env: { ...process.env, CROSSPOINT_URL: server.url, CROSSPOINT_ADMIN_PASSWORD: passwordShown() },
    })
    expect(stdout.trim().split('\n')).toEqual([
      'Two phones would cost $21.00 a month.',
      'Rita sells the plan: $21.00 a month.',
      'Phone 3 is there, at no charge.',
      'Phone 4 would cost $5.00 today and $29.00 a month.',
      'Ann agrees, and has not enough: nothing is made, and nothing charged.',
      'Balance below threshold: $0.00.',
      'Ann pays Rita, who tops her up, and agrees again: $20.00 are left, 0 warnings.',
      '  payments: $25.00',
      '  services: -$5.00',
      'The audit says: 4 phones added, 0 removed, 4 in all.',
    ])
  },
}

it.each(someOf(1, Object.entries(stories)))('shows the story of %s', (_name, tell) => tell())
