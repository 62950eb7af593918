// What a page holds while it is looked at.
/// <reference lib="dom" />
import type { CDPSession, Page } from 'playwright-core'

const mebibyte = 1024 ** 2

/** Samples the memory of a page: what it holds when all is collected that nobody needs. */
export const openMemory = async (page: Page) => {
  const cdp: CDPSession = await page.context().newCDPSession(page)
  await cdp.send('Performance.enable')
  return {
    async sample() {
      await cdp.send('HeapProfiler.collectGarbage')
      const { metrics } = await cdp.send('Performance.getMetrics')
      const { nodes } = await cdp.send('Memory.getDOMCounters')
      const heap = metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? Number.NaN
      return { mebibytes: heap / mebibyte, nodes }
    },
  }
}

/** Goes to the end of what is known of a list, again and again. */
export const scrollOn = (page: Page, milliseconds: number) =>
  page.evaluate(async (duration) => {
    const frame = document.querySelector('.row-list')
    const end = performance.now() + duration
    while (frame && performance.now() < end) {
      frame.scrollTop = frame.scrollHeight
      await new Promise(requestAnimationFrame)
    }
  }, milliseconds)

/** How many rows of a list the page has read. */
export const rowsSeen = async (page: Page) =>
  Number((await page.getByText(/[\d,.]+ rows/).innerText()).replaceAll(/\D/g, ''))
