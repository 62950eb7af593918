import { type ConnectivityRecord, getConnectivity } from '@crosspoint/client'
import { usePlace } from '../../frame/place.tsx'
import { useAnswer } from '../../lib/answers.ts'
import { api } from '../../lib/api.ts'

export const kind = 'connectivity'

export const useTrunk = (connectivity_id: string) => {
  const { accountId: account_id } = usePlace()
  return useAnswer([kind, account_id, connectivity_id], (signal) =>
    getConnectivity({ ...api, path: { account_id, connectivity_id }, signal }),
  )
}

export const numbersOf = ({ servers = [] }: Pick<ConnectivityRecord, 'servers'>) =>
  servers.flatMap(({ DIDs = {} }) => Object.keys(DIDs))
