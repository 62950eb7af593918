import { listRatedecks } from '@crosspoint/client'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'

/** All ratedecks, and the one that applies to accounts without another. Only the operator reads them. */
export const useDecks = (enabled = true) => {
  const found = useAnswer(['rate', 'decks'], (signal) => listRatedecks({ ...api, signal }), { enabled })
  const { default_ratedeck, ratedecks = [] } = found.data?.data ?? {}
  const others = ratedecks.filter((deck) => deck !== default_ratedeck)
  return {
    default_ratedeck,
    ratedecks: default_ratedeck === undefined ? others : [default_ratedeck, ...others],
  }
}
