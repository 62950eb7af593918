import type { Store } from '../../../../storage/store.ts'
import { monthsOf } from '../parts.sql.ts'
import type { Scope } from '../reading/store.ts'
import { createParams, heldBy, legOrder, rangeOf } from '../reading/store.ts'
import type { CdrStore } from '../store.ts'
import { groupsOfLegs, prefixLength, type SummaryGroup } from './rules.ts'

export const createSummaryStore = (store: Store, legs: CdrStore) => {
  const { words } = store
  const called = words.before('sip_to', '@')
  // Calls in come from a domain, calls out go to one.
  const domain = `CASE call_direction WHEN 'inbound' THEN ${words.behind('sip_from', '@')}
    ELSE ${words.behind('sip_to', '@')} END`
  const groups = `SELECT direction, domain, rate_name, prefix, length, is_number, CAST(sum(seconds) AS BIGINT) AS seconds FROM (
    SELECT call_direction AS direction, COALESCE(${domain}, '') AS domain, rate_name,
      substr(COALESCE(${called}, ''), 1, ${prefixLength}) AS prefix, length(COALESCE(${called}, '')) AS length,
      CASE WHEN ltrim(COALESCE(${called}, ''), '+0123456789') = '' THEN 1 ELSE 0 END AS is_number,
      COALESCE(billing_seconds, 0) AS seconds`
  const counted = `loopback_leg IS NULL AND (
      (call_direction = 'inbound' AND authorizing_id IS NULL)
      OR (call_direction = 'outbound' AND resource_id IS NOT NULL))`

  return {
    /** Groups of the window's legs, part by part: the same group may come several times. */
    groups: (scope: Scope): AsyncGenerator<SummaryGroup[]> =>
      legs.sums(scope, {
        bySql(part) {
          const { stretch, after, until } = part
          const { params, mark } = createParams()
          const inStretch = rangeOf(stretch, legOrder, { after, until, descending: true }, mark)
          const condition = `${heldBy(scope, mark)} AND ${inStretch} AND ${counted}`
          return store.cdrs.read(monthsOf(part), (from) =>
            store.scan<SummaryGroup>(
              `${groups} FROM ${from} WHERE ${condition}) AS legs
                GROUP BY direction, domain, rate_name, prefix, length, is_number`,
              params,
            ),
          )
        },
        ofLegs: groupsOfLegs,
      }),
  }
}
