import type { TSchema } from 'typebox'
import { describe, expect, it } from 'vitest'
import { declarationsOf } from '../../src/areas/assemble.ts'
import { areas } from '../../src/areas/index.ts'
import { allRoutes } from '../../src/commands/openapi.ts'
import { createValidation, type Validation } from '../../src/http/request/validation.ts'
import { multiline, open, text } from '../../src/lib/schema.ts'
import { type Place, textsIn } from '../support/matchers/schema-texts.ts'

const { settings, accountSettings } = declarationsOf(areas)

const titleOf = (schema: object) => ('title' in schema ? String(schema.title) : undefined)

/** Each body and each settings document once: a body without a title is named by the first route that takes it. */
const bodies = [
  ...new Map(
    allRoutes()
      .toReversed()
      .flatMap(({ method, path, spec }) => (spec.body ? [[spec.body, `${method} ${path}`] as const] : [])),
  ),
  ...Object.entries({ ...settings, ...accountSettings }).map(
    ([name, schema]) => [schema as TSchema, `settings ${name}`] as const,
  ),
].map(([schema, name]) => ({ schema, name: titleOf(schema) ?? name, judge: createValidation(schema) }))

const placesAbove = (path: string) => {
  const segments = path.split('.')
  return segments.map((_, index) => segments.slice(0, index + 1).join('.'))
}

/** Whether a text with a line break is rejected at this path, or in the `anyOf` that it belongs to. */
const refuses = (judge: Validation<unknown>, { path, around }: Place, sent: string) => {
  const { problems } = judge(around(sent))
  return (
    problems[path]?.pattern !== undefined ||
    [...placesAbove(path), 'data'].some((above) => problems[above]?.any_schemas_not_valid !== undefined)
  )
}

describe('every text that a client sends', () => {
  it('is rejected with a control character, unless its schema is multiline', () => {
    const accepting = bodies.flatMap(({ name, schema, judge }) =>
      textsIn(schema)
        .filter(({ isMultiline }) => !isMultiline)
        .filter((place) => !refuses(judge, place, 'a\r\nX-Forged: b'))
        .map(({ path }) => `${name} ${path}`),
    )
    expect(accepting).toEqual([])
  })

  it('is multiline only in prose, and in reports of switches and edges', () => {
    const free = bodies.flatMap(({ schema, name }) =>
      textsIn(schema)
        .filter(({ isMultiline }) => isMultiline)
        .map(({ path }) => `${name}: ${path}`),
    )
    expect([...new Set(free)].sort()).toMatchInlineSnapshot(`
      [
        "Account: announcement",
        "Collection of phone numbers: porting.comments.0",
        "Ledger entry: description",
        "New rate: description",
        "Notification draft: html",
        "Notification draft: plain",
        "POST /v2/accounts/{account_id}/services/{plan_id}: overrides.description",
        "POST /v2/accounts/{account_id}/services: add.0.overrides.description",
        "POST /v2/accounts/{account_id}/services: overrides.description",
        "POST /v2/accounts/{account_id}/services: plans.0.overrides.description",
        "PUT /v2/accounts/{account_id}/devices/{device_id}: data.body.data",
        "PUT /v2/accounts/{account_id}/invoices/{invoice_id}/credit_notes: reason",
        "Phone number: porting.comments.0",
        "Plan overrides: description",
        "Question of FreeSWITCH: Caller-Caller-ID-Number",
        "Question of FreeSWITCH: Caller-Context",
        "Question of FreeSWITCH: Caller-Destination-Number",
        "Question of FreeSWITCH: Caller-Network-Addr",
        "Question of FreeSWITCH: action",
        "Question of FreeSWITCH: domain",
        "Question of FreeSWITCH: ip",
        "Question of FreeSWITCH: section",
        "Question of FreeSWITCH: sip_user_agent",
        "Question of FreeSWITCH: user",
        "Question of FreeSWITCH: variable_domain_name",
        "Question of FreeSWITCH: variable_sip_authorized",
        "Question of FreeSWITCH: variable_sip_from_host",
        "Question of FreeSWITCH: variable_sip_network_port",
        "Question of FreeSWITCH: variable_sip_user_agent",
        "Question of FreeSWITCH: variable_user_name",
        "Rate: description",
        "Reports of an edge: refusals.0.address",
        "Reports of an edge: refusals.0.method",
        "Reports of an edge: refusals.0.module",
        "Reports of an edge: refusals.0.number",
        "Reports of an edge: refusals.0.realm",
        "Reports of an edge: refusals.0.reason",
        "Reports of an edge: refusals.0.user_agent",
        "Reports of an edge: refusals.0.username",
        "Service plan: description",
        "Transaction: description",
        "User: profile.note",
        "Webhook: custom_request_headers.a",
        "settings apps_store: apps.a.i18n.US.extended_description",
      ]
    `)
  })
})

describe('a text of one line', () => {
  const judge = createValidation(open({ name: text(0, 35), note: text(0, 35, multiline) }))

  it.each(['Ada Lovelace', 'Zoë', '株式会社', 'a "quoted" name', '', 'emoji 📞'])('may be %j', (name) => {
    expect(judge({ name })).toEqual({ value: { name }, problems: {}, sound: { name } })
  })

  it.each(['\r', '\n', '\t', '\u0007', '\u007f', '\u0085', '\u009f', '\u2028', '\u2029'])(
    'must not contain %j',
    (character) => {
      const name = `a${character}b`
      expect(judge({ name }).problems).toEqual({
        name: {
          pattern: {
            message: 'Text must be one line without control characters',
            target: expect.any(String),
            value: name,
          },
        },
      })
    },
  )

  it('does not restrict prose, which keeps its line breaks', () => {
    const note = 'first\nsecond\tthird'
    expect(judge({ note })).toEqual({ value: { note }, problems: {}, sound: { note } })
  })
})
