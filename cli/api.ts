import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { RequestOptions } from '../client/src/core.ts'
import { isObject } from '../src/lib/json.ts'
import { connect } from './connection.ts'
import { withConsent } from './consent.ts'
import { printJson, printJsonRows } from './lists.ts'
import { pairs, profileOption, queryOption, type RunRemote } from './running.ts'
import { Mistake, type Terminal } from './terminal.ts'

interface ApiOptions {
  profile: string
  data?: string
  field?: Readonly<Record<string, string>>
  jsonField?: Readonly<Record<string, unknown>>
  query?: Readonly<Record<string, string>>
  header?: Readonly<Record<string, string>>
  accept?: string
  all?: boolean
  envelope?: boolean
  yes?: boolean
}

const jsonIn = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch (error) {
    throw new Mistake(`--data is not valid JSON: ${error instanceof Error ? error.message : error}`)
  }
}

const readInput = async (source: string) => {
  if (source === '@-') return text(process.stdin)
  return source.startsWith('@') ? readFile(source.slice(1), 'utf8') : source
}

/** `a.b=c` is {"a": {"b": "c"}}. */
const nested = (fields: Readonly<Record<string, unknown>>) => {
  const data: Record<string, unknown> = {}
  for (const [path, value] of Object.entries(fields)) {
    const names = path.split('.')
    const last = names.pop() ?? path
    let at = data
    for (const name of names) {
      const inside = at[name]
      const next: Record<string, unknown> = isObject(inside) ? { ...inside } : {}
      at[name] = next
      at = next
    }
    at[last] = value
  }
  return data
}

/** `--data` with or without its envelope, or fields. */
const contentOf = async ({
  data,
  field,
  jsonField,
}: ApiOptions): Promise<Pick<RequestOptions, 'data' | 'envelope'>> => {
  if (data === undefined) return field || jsonField ? { data: nested({ ...field, ...jsonField }) } : {}
  const value = jsonIn(await readInput(data))
  if (!isObject(value) || !('data' in value)) return { data: value }
  const { data: inside, ...envelope } = value
  return { data: inside, envelope }
}

const jsonPairs = (text: string, before: Readonly<Record<string, unknown>> = {}) => {
  const [[name, json] = ['', '']] = Object.entries(pairs(text))
  try {
    const value: unknown = JSON.parse(json)
    return { ...before, [name]: value }
  } catch {
    throw new InvalidArgumentError('The value must be JSON.')
  }
}

const headers = (text: string, before: Readonly<Record<string, string>> = {}) => {
  const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(text) ?? []
  if (name === undefined || value === undefined) throw new InvalidArgumentError("Write it as 'Name: value'.")
  return { ...before, [name]: value }
}

/** `/v2` may be missing; {account} is the account that is signed in. */
const pathOf = (text: string, accountId: string) => {
  const path = text.startsWith('/') ? text : `/${text}`
  const isWhole = /^\/(v\d+|healthz|readyz|metrics|openapi\.json)(\/|\?|$)/.test(path)
  return `${isWhole ? '' : '/v2'}${path}`.replaceAll(/\{account(?:_id)?\}/g, accountId)
}

const isEnveloped = (path: string) => /^\/v\d+\//.test(path)

const api = async (terminal: Terminal, method: string, text: string, options: ApiOptions) => {
  const { crosspoint, accountId } = await connect(terminal, options.profile)
  const path = pathOf(text, accountId)
  const { query = {}, header = {}, accept } = options
  const request = {
    method: method.toUpperCase(),
    path,
    query,
    headers: header,
    ...(await contentOf(options)),
  }
  if (accept !== undefined || !isEnveloped(path)) {
    const { body } = await crosspoint.open({ ...request, accept: accept ?? '*/*' })
    return body === null ? undefined : terminal.file(body)
  }
  if (options.all) {
    if (request.method !== 'GET') throw new Mistake('--all reads lists: use it with GET')
    return printJsonRows(terminal, crosspoint.eachOf(path, query))
  }
  const answer = await withConsent(
    terminal,
    options,
    async () => (await crosspoint.request(request)).envelope,
  )
  // The token must not reach logs and screens.
  const { auth_token: _token, ...envelope } = answer
  await printJson(terminal, options.envelope ? envelope : answer.data)
}

export const addApi = (program: Command, run: RunRemote) =>
  program
    .command('api')
    .argument('<METHOD>', 'GET, PUT, POST, PATCH or DELETE')
    .argument('<PATH>', 'such as /accounts/{account}/devices; {account} is the signed-in account')
    .summary('send an API request')
    .description('Sends an API request with the session of a profile and prints `data` of the response')
    .addOption(
      new Option(
        '-d, --data <JSON>',
        'request data, plain or as {"data": ...}; @FILE reads a file, @- standard input',
      ).conflicts(['field', 'jsonField']),
    )
    .option(
      '-f, --field <KEY=TEXT>',
      'set one field of the data; a.b=c sets a nested field; repeatable',
      pairs,
    )
    .option(
      '-F, --json-field <KEY=JSON>',
      'the same with a JSON value, such as a number, true or a list',
      jsonPairs,
    )
    .addOption(queryOption())
    .option('-H, --header <HEADER>', 'such as \'If-Match: "..."\'; repeatable', headers)
    .option('--accept <TYPE>', 'request another type, such as text/csv, and print the response unchanged')
    .addOption(
      new Option('--all', 'read all pages of a list').conflicts([
        'data',
        'field',
        'jsonField',
        'header',
        'accept',
        'envelope',
      ]),
    )
    .option('--envelope', 'print the whole response')
    .option('--yes', 'accept the charges without asking')
    .addOption(profileOption())
    .action((method: string, path: string, options) =>
      run((terminal) => api(terminal, method, path, options)),
    )
