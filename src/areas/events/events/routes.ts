import { accountAdmin } from '../../../auth/policies.ts'
import { eventJson, type FeedEvent, sequenceOf, sequenceText, weightOf } from '../../../events/events.ts'
import type { Feed } from '../../../events/feed.ts'
import { badStartKey, type Cursor, type Listing } from '../../../http/response/listing.ts'
import { ListResponse, LiveResponse } from '../../../http/response/responses.ts'
import { type Call, get, type Route } from '../../../http/route.ts'
import { gregorianOfUnix } from '../../../lib/gregorian.ts'
import { isTrue } from '../../../lib/json.ts'
import { anyObject, anyText, choice, closed, gregorian, must } from '../../../lib/schema.ts'
import { type EventFilter, placeIn, wantedIn } from './question.ts'
import type { Streams } from './streams.ts'

const Person = closed({ id: anyText(), account_id: anyText() })

const EventActor = closed({
  type: must(choice(['user', 'api_key', 'impersonator', 'task', 'system'])),
  id: anyText(),
  account_id: anyText(),
  as: Person,
})

const EventRecord = closed({ kind: must(anyText()), id: must(anyText()) })

export const Event = closed(
  {
    sequence: must(
      anyText({ description: 'Position in the order of all events; the text sorts in this order' }),
    ),
    type: must(anyText({ description: 'user.edited, balance.low and so on' })),
    account_id: must(anyText()),
    at: must(gregorian('Time of the commit')),
    actor: must(EventActor),
    request_id: must(anyText()),
    record: must(EventRecord),
    after: anyObject({ description: 'Public record after the change; absent if deleted' }),
    before: anyObject({ description: 'Public record before the change, with with_before' }),
  },
  { title: 'Event' },
)

const query = {
  after: 'Only events after this sequence; `now`: only new events',
  type: 'Only these types: `<kind>.<what>` and `<kind>.*`, separated by commas; `cdr.created` is only sent if it is listed',
  record_id: 'Only the record with this ID',
  actor_id: 'Only events of this user, key or task',
  created_from: 'Gregorian seconds: no earlier events',
  created_to: 'Gregorian seconds: no later events',
  include_subaccounts: { flag: 'true: also events of sub-accounts' },
  with_before: { flag: 'true: also the previous version of each record' },
}

const isStreamed = ({ request }: Pick<Call, 'request'>) => request.accepts === 'text/event-stream'

const sequenceIn = ([text]: Cursor) => {
  const sequence = sequenceOf(text)
  if (sequence === undefined) throw badStartKey(text)
  return sequence
}

export const eventRoutes = (feed: Feed, streams: Streams, typeNames: ReadonlySet<string>): Route[] => {
  const listing = (wanted: EventFilter, begin: number, withBefore: boolean): Listing<FeedEvent> => ({
    async page({ after, limit }) {
      const { events, next } = await feed.page({
        ...wanted,
        withBefore,
        after: after ? sequenceIn(after) : begin,
        limit,
      })
      return { items: events, next: next === undefined ? undefined : [sequenceText(next), ''] }
    },
    weight: weightOf,
    cursor: ({ sequence }) => [sequenceText(sequence), ''],
    row: (event) => JSON.stringify(eventJson(event, { withBefore })),
    record: (event) => ({ ...eventJson(event, { withBefore }), created: gregorianOfUnix(event.at / 1000) }),
    refusesForeignKeys: true,
  })

  return [
    get('/v2/accounts/{account_id}/events', {
      summary: 'Read or follow the events of an account, oldest first',
      allow: accountAdmin,
      query,
      answers: Event,
      list: true,
      produces: ['text/event-stream'],
      async run(call) {
        const { account, query: asked, request } = call
        const place = { accountId: account.id, isTop: account.hidden.tree.length === 0 }
        const wanted = wantedIn(asked, place, typeNames)
        const withBefore = isTrue(asked.get('with_before'))
        const start = placeIn(asked.get('after'), 'after')
        if (!isStreamed(call)) {
          await feed.settled()
          const begin = start === 'now' ? await feed.newest() : start
          return new ListResponse(listing(wanted, begin, withBefore))
        }
        const resumed = request.header('last-event-id')
        const from = resumed === undefined ? start : placeIn(resumed, 'last-event-id')
        const after = from === 'now' ? await feed.newest() : from
        return new LiveResponse({
          contentType: 'text/event-stream',
          headers: {
            'x-accel-buffering': 'no',
            'cache-control': 'no-store',
            // A client that reconnects before the first event continues here.
            'x-last-event-id': sequenceText(after),
          },
          open: (line) => streams.open({ wanted, after, withBefore }, line),
        })
      },
    }),
  ]
}
