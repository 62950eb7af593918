// What phones say of the voice when they hang up, in the ways in which their makers write it.
import { isObject } from '../../../../lib/json.ts'
import type { Cdr } from '../../../calls/cdrs/schema.ts'

type MediaQuality = NonNullable<Cdr['media_quality']>

/** What a figure is called in `X-RTP-Stat` and `P-RTP-Stat`, in `RTP-RxStat` and in `RTP-TxStat`. */
interface Names {
  stat: string
  received?: string
  sent?: string
}

const names: Readonly<Record<keyof MediaQuality, Names>> = {
  packets_sent: { stat: 'PS', sent: 'Pkt' },
  packets_received: { stat: 'PR', received: 'Pkt' },
  packets_lost: { stat: 'PL', received: 'LostPkt' },
  jitter_ms: { stat: 'JI', received: 'AvgJit' },
}

// More digits are no count of packets of any call.
const figureIn = (text: unknown, name: string | undefined): number | undefined => {
  if (typeof text !== 'string' || name === undefined) return undefined
  const found = new RegExp(`(?:^|[;,\\s])${name}=(\\d{1,9})(?!\\d)`).exec(text)
  return found ? Number(found[1]) : undefined
}

/** The figures that headers say; undefined where they say none. */
export const qualityIn = (said: unknown): MediaQuality | undefined => {
  if (!isObject(said)) return undefined
  const { stat, received, sent } = said
  const figures = Object.entries(names).flatMap(([field, called]) => {
    const figure =
      figureIn(stat, called.stat) ?? figureIn(received, called.received) ?? figureIn(sent, called.sent)
    return figure === undefined ? [] : [[field, figure] as const]
  })
  return figures.length === 0 ? undefined : Object.fromEntries(figures)
}

/** The record with figures in the place of what the phone has said. */
export const withQuality = (record: unknown): unknown => {
  if (!isObject(record) || record.rtp_stats === undefined) return record
  const { rtp_stats: said, ...rest } = record
  const quality = qualityIn(said)
  return quality ? { ...rest, media_quality: quality } : rest
}
