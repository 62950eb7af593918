import { availableParallelism } from 'node:os'

const maxByCores = 4

/** Half of the processors: the others write, derive keys, read for long and make files. Elsewhere than on Linux, one. */
export const threadsByCores = (cores = availableParallelism(), platform = process.platform): number =>
  platform === 'linux' ? Math.max(1, Math.min(maxByCores, Math.floor(cores / 2))) : 1
