import type { StepwiseWork } from '../../jobs/steps.ts'
import type { Migration } from './operations.ts'

/** What does the work, each in the area that it is about. */
interface MigrationWork {
  renewSignInKeys: StepwiseWork
  recount: StepwiseWork
  normaliseNumbers: StepwiseWork
  repairNumbers: StepwiseWork
  rebuildCdrMonths: StepwiseWork
}

const accountsAtOnce = 8

/** Every migration, by the id that clients name. */
export const migrationsOf = (work: MigrationWork): Readonly<Record<string, Migration>> => ({
  derive_sign_in_secrets: {
    description:
      'Derives the stored sign-in keys of users anew with the strongest parameters; passwords stay as they are',
    plan: work.renewSignInKeys,
    // Users who sign in need the same few threads.
    accountsAtOnce: 1,
  },
  normalise_numbers: {
    description: 'Writes phone numbers, their countries and classifiers as the rules of today have it',
    plan: work.normaliseNumbers,
    accountsAtOnce,
  },
  rebuild_cdr_months: {
    description:
      'Counts the statistics and checks the costs of call detail records anew from the stored records',
    plan: work.rebuildCdrMonths,
    accountsAtOnce,
  },
  recount_services: {
    description: 'Counts anew what the account has, for its services',
    plan: work.recount,
    accountsAtOnce,
  },
  repair_used_by: {
    description: 'Puts right what phone numbers are used by, and the features that follow from settings',
    plan: work.repairNumbers,
    accountsAtOnce,
  },
})
