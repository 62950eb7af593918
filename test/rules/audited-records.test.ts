import { describe, expect, it } from 'vitest'
import { allRoutes } from '../../src/commands/openapi.ts'

/** Records that are read by an id and have no separate audit, with the reason. */
const unaudited: Readonly<Record<string, string>> = {
  '{account_id}': 'the audit of an account is that of all that is in it',
  '{entry_id}': 'an entry of the audit',
  'legs/{interaction_id}': 'call records come in by the thousand and never change',
  'cdrs/{cdr_id}': 'call records come in by the thousand and never change',
  'attempts/{attempt_id}': 'an entry of a log',
  'smtplog/{smtplog_id}': 'an entry of a log',
  'system_configs/{config_id}': 'accounts have none; those of the system are audited',
  'samples/{sample_id}': 'a sample has no owner',
  'websockets/{websocket_id}': 'a connection',
  'apps_store/{app_id}':
    'the apps of an account are parts of one record, and the audit of the account shows their changes',
  'payment_tokens/{token_id}': 'a bookkeeper outside keeps them',
}

const endOf = (path: string) => path.split('/').slice(-2).join('/')

describe('the audit of records', () => {
  const readsById = allRoutes().filter(({ method, path }) => method === 'GET' && /_(id|number)\}$/.test(path))

  it('has a path below every record that is read by its id', () => {
    const paths = new Set(allRoutes().map(({ path }) => path))
    const without = readsById.filter(({ path }) => !paths.has(`${path}/audit`)).map(({ path }) => path)
    const isExcused = (path: string) => Object.keys(unaudited).some((end) => endOf(path).endsWith(end))
    expect(without.filter((path) => !isExcused(path))).toEqual([])
  })

  it('is for the readers of the record, and for the operator if the record has no owner', () => {
    for (const { path, spec, record } of readsById) {
      const audit = allRoutes().find((route) => route.path === `${path}/audit`)
      if (!record || !audit) continue
      const expected = record.owner === 'nobody' ? 'admin of a superduper account' : spec.allow.name
      expect([path, audit.spec.allow.name]).toEqual([path, expected])
    }
  })
})
