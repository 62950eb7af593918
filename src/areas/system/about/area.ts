import { accountMember, superduper } from '../../../auth/policies.ts'
import { get, type Route } from '../../../http/route.ts'
import { anyText, integer, must, open } from '../../../lib/schema.ts'
import { version } from '../../../version.ts'
import { area } from '../../area.ts'

const About = open(
  {
    version: must(anyText()),
    used_memory: must(integer({ description: 'Resident bytes of the process that answers' })),
    uptime_seconds: must(integer({ description: 'Since that process was started' })),
    runtime: must(anyText({ description: 'What the server runs on' })),
  },
  { title: 'About' },
)

const facts = () => ({
  version,
  used_memory: process.memoryUsage.rss(),
  uptime_seconds: Math.floor(process.uptime()),
  runtime: `node ${process.version}`,
})

const aboutRoutes = (): Route[] => [
  get('/v2/about', { summary: 'Read what this server is', allow: superduper, answers: About, run: facts }),
  get('/v2/accounts/{account_id}/about', {
    summary: 'Read what this server is',
    allow: accountMember,
    answers: About,
    run: facts,
  }),
]

export const aboutArea = area({
  name: 'about',
  describes: { about: 'What this server is.' },
  create: () => ({ routes: aboutRoutes() }),
})
