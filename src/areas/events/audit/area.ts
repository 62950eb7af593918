import { area } from '../../area.ts'
import { createAuditIndexing } from './indexing.sql.ts'
import { createAudit } from './operations.ts'
import { createAuditRetention } from './retention.sql.ts'
import { auditOfRecords, auditRoutes } from './routes.ts'

export const auditArea = area({
  name: 'audit',
  kinds: { audit: 'removal of old entries of the audit log' },
  describes: { audit: 'Changes of records, with author, old and new values.' },
  create(tools) {
    const audit = createAudit(tools)
    return {
      offers: audit,
      routes: auditRoutes(audit),
      jobs: [createAuditRetention(tools, audit), createAuditIndexing(tools)],
      derives: (routes) => auditOfRecords(audit, routes),
    }
  },
})
