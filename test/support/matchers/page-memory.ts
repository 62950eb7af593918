// The memory of a page.
/// <reference lib="dom" />
import type { CDPSession, Page } from 'playwright-core'

const mebibyte = 1024 ** 2

/** Samples the memory of a page after garbage collection. */
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

/** How many rows of a list the page has read. */
export const rowsSeen = async (page: Page) =>
  Number((await page.getByText(/[\d,.]+ rows/).innerText()).replaceAll(/\D/g, ''))

/** Scrolls to the end of the rows that a list has read, until it has read this many. */
export const scrollToRow = async (page: Page, row: number) => {
  while ((await rowsSeen(page)) < row) {
    await page.evaluate(async () => {
      const frame = document.querySelector('.row-list')
      if (frame) frame.scrollTop = frame.scrollHeight
      await new Promise(requestAnimationFrame)
    })
  }
}

/** Scrolls through a list in steps of rows, with a sample of the memory after each. */
export const scrollInSteps = async (page: Page, step: number, steps: number) => {
  const memory = await openMemory(page)
  const samples = [await memory.sample()]
  for (let count = 1; count <= steps; count += 1) {
    await scrollToRow(page, step * count)
    samples.push(await memory.sample())
  }
  const heap = samples.map(({ mebibytes }) => mebibytes)
  return {
    /** The heap after the first step, after the last, and the largest of all samples, in MiB. */
    first: heap[1] ?? 0,
    last: heap.at(-1) ?? 0,
    largest: Math.max(...heap),
    nodes: Math.max(...samples.map((sample) => sample.nodes)),
  }
}
