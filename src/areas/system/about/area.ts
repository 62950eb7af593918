import { accountMember, superduper } from '../../../auth/policies.ts'
import { get } from '../../../http/route.ts'
import { anyText, integer, must, open } from '../../../lib/schema.ts'
import { version } from '../../../version.ts'
import { area } from '../../area.ts'

const About = open(
  {
    version: must(anyText()),
    used_memory: must(integer({ description: 'Resident bytes of the process that answers' })),
    uptime_seconds: must(integer({ description: 'Since that process was started' })),
    runtime: must(anyText({ description: 'Platform of the server' })),
  },
  { title: 'About' },
)

const facts = () => ({
  version,
  used_memory: process.memoryUsage.rss(),
  uptime_seconds: Math.floor(process.uptime()),
  runtime: `node ${process.version}`,
})

const route = { summary: 'Read the version and state of this server', answers: About, run: facts }

export const aboutArea = area({
  name: 'about',
  describes: { about: 'Version and state of the server.' },
  create: () => ({
    routes: [
      get('/v2/about', { ...route, allow: superduper }),
      get('/v2/accounts/{account_id}/about', { ...route, allow: accountMember }),
    ],
  }),
})
