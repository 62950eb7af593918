// Voice quality figures that phones report when they hang up.
import { describe, expect, it } from 'vitest'
import { qualityIn, withQuality } from '../../src/areas/voice/edge/reports.rules.ts'

describe('what a phone says of the voice', () => {
  it.each([
    [
      'as Linksys and Yealink write it',
      { stat: 'PS=285,OS=45600,PR=286,OR=45760,PL=3,JI=12,LA=0,DU=5,EN=G722,DE=G722' },
      { packets_sent: 285, packets_received: 286, packets_lost: 3, jitter_ms: 12 },
    ],
    [
      'as AVM writes it',
      { stat: 'CS=0;PS=1245;ES=1248;OS=199200;SP=0/0;SO=0;QS=-;PR=1248;ER=1248;PL=2,1;BL=0;LS=0;JI=23,2' },
      { packets_sent: 1245, packets_received: 1248, packets_lost: 2, jitter_ms: 23 },
    ],
    [
      'as Cisco writes it',
      {
        received: 'Dur=14,Pkt=712,Oct=122464,LatePkt=0,LostPkt=4,AvgJit=7,VQMetrics="CCR=0.0017"',
        sent: 'Dur=14,Pkt=714,Oct=122808',
      },
      { packets_sent: 714, packets_received: 712, packets_lost: 4, jitter_ms: 7 },
    ],
    ['in part', { stat: 'PS=1' }, { packets_sent: 1 }],
    ['in part, of one way', { sent: 'Pkt=9' }, { packets_sent: 9 }],
    ['as names that end alike', { stat: 'XPS=1,OPR=2' }, undefined],
    ['in figures that are none', { stat: 'PS=-1,PR=1234567890,PL=x,JI=' }, undefined],
    ['as nothing', { stat: 7 }, undefined],
    ['as a text', 'PS=1', undefined],
  ])('is read %s', (_title, said, expected) => expect(qualityIn(said)).toEqual(expected))

  it('is in the record instead of its text', () => {
    expect(withQuality({ call_id: 'a', rtp_stats: { stat: 'PS=1' } })).toEqual({
      call_id: 'a',
      media_quality: { packets_sent: 1 },
    })
    expect(withQuality({ call_id: 'a', rtp_stats: { stat: 'x' } })).toEqual({ call_id: 'a' })
    expect(withQuality({ call_id: 'a' })).toEqual({ call_id: 'a' })
    expect(withQuality('no record')).toBe('no record')
  })
})
