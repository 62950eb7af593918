import { typeNamesOf } from '../../../events/events.ts'
import { area } from '../../area.ts'
import { eventRoutes } from './routes.ts'
import { createStreams } from './streams.ts'

export const eventsArea = area({
  name: 'events',
  describes: { events: 'Events in order, as pages or as a stream.' },
  create({ feed, log, declared }) {
    const streams = createStreams({ feed, log })
    return { routes: eventRoutes(feed, streams, typeNamesOf(declared)), stop: async () => streams.stop() }
  },
})
