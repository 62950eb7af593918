import type { Queue } from '../../jobs/queue.ts'
import type { Work } from '../../jobs/store.ts'
import { failure } from '../../lib/failure.ts'
import type { Author } from '../../storage/change-set.ts'

interface Tools {
  queue: Queue
}

export type WorkDesk = ReturnType<typeof createWorkDesk>

/** What the server still has to do, and how what it did has ended: for operators. */
export const createWorkDesk = ({ queue }: Tools) => {
  const get = async (kind: string, id: string): Promise<Work> => {
    const work = await queue.find(kind, id)
    if (!work) throw failure('bad_identifier', { cause: id })
    return work
  }

  return {
    page: queue.page,
    get,

    /** Has it tried at once. What does not wait is not tried again: it has ended. */
    async retry(author: Author, kind: string, id: string) {
      await queue.retry(author, await get(kind, id))
      return get(kind, id)
    },
  }
}
