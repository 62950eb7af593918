import { describe, expect, it } from 'vitest'
import { outdated, unprepared } from '../../src/areas/calls/cdrs/places.rules.ts'

describe('Months of call records', () => {
  it('are prepared one ahead, over the end of a year too', () => {
    expect(unprepared([202610], 202610)).toEqual([202611])
    expect(unprepared([202611], 202612)).toEqual([202612, 202701])
    expect(unprepared([202612, 202701], 202612)).toEqual([])
  })

  it('are not prepared where no call has come', () => {
    expect(unprepared([], 202610)).toEqual([])
  })

  it('are beyond retention when the retained number of whole months is in between', () => {
    expect(outdated([202511, 202512, 202601, 202602, 202603], 202602, 2)).toEqual([202511])
  })
})
