import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ServerProcess, startServerProcess } from './support/server-process.ts'

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

afterAll(() => server.end())

const passwordShown = () => /password (\S+)/.exec(server.output())?.[1] as string

it('shows at the first start what the README says', () => {
  const shown =
    blocks
      .find(({ text }) => text.startsWith('First start'))
      ?.text.trim()
      .split('\n') ?? []
  const pattern = shown.map((line) =>
    line.replace(/password \S+$/, 'password PASSWORD').replace(/:8000$/, `:${server.port}`),
  )
  const lines = server
    .output()
    .trim()
    .split('\n')
    .map((line) => line.replace(/password \S+$/, 'password PASSWORD'))
  expect(lines).toEqual(pattern)
})

it('runs the sign-in and the first sub-account of the README as printed', async () => {
  const script = blocks.find(({ kind, text }) => kind === 'sh' && text.includes('user_auth'))?.text as string
  const here = script
    .replace('the password that was shown', passwordShown())
    .replaceAll('http://127.0.0.1:8000', server.url)
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

it('tells the story of the first phone', async () => {
  const { stdout } = await run(process.execPath, ['examples/first-phone.mjs'], {
    env: { ...process.env, CROSSPOINT_URL: server.url, CROSSPOINT_ADMIN_PASSWORD: passwordShown() },
  })
  expect(stdout.trim().split('\n').at(-1)).toBe('Bob has signed in, and his phone is ready.')
})
