// Settings of the system, and how it words its notices.
import { systemScope } from '../../src/storage/change-set.ts'
import { converted } from '../conversions/findings.ts'
import type { PeopleContext } from '../conversions/people/context.ts'
import { convertNotice } from '../conversions/people/rules.ts'
import { convertSettings } from '../conversions/settings/rules.ts'
import type { KazooDocument } from '../documents/document.ts'
import { isGone } from '../documents/fields.ts'
import { type Chapter, systemDatabase } from './chapter.ts'

const isNotice = ({ type }: KazooDocument) => type === 'notification'

/**
 * The settings documents. Notices of the system speak of the company and the pages that were there: they come along only
 * where somebody says so.
 */
export const createSettingsChapter = ({ notices }: Pick<PeopleContext, 'notices'>): Chapter => ({
  name: 'settings',
  reads: 'whole',
  databases: (facts) => systemDatabase(facts, 'system_config'),
  convert(documents, { facts }) {
    const worded = documents.filter(isNotice)
    return [
      ...convertSettings(
        documents.filter((one) => !isNotice(one)),
        systemScope,
      ),
      ...worded.map((document) =>
        isGone(document.fields) || !facts.withSystemNotices
          ? converted(document, 'skipped')
          : convertNotice(document, { accountId: systemScope, notices }),
      ),
    ]
  },
})
