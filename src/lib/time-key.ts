/** Text that orders by time as the number does. */
export const timeKey = (gregorianSeconds: number) => String(gregorianSeconds).padStart(15, '0')

/** What ids of time lists begin with: the year and month, `202611`. */
export const monthOf = (unixMilliseconds: number) =>
  new Date(unixMilliseconds).toISOString().slice(0, 7).replace('-', '')
