/** The display name of a user in lists and records. */
export interface Named {
  first_name?: string
  last_name?: string
  username?: string
}

export const nameOf = ({ first_name, last_name, username }: Named) =>
  [first_name, last_name].filter(Boolean).join(' ') || (username ?? '')
