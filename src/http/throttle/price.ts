/** What a request costs in throttling tokens, when that is not the ordinary price alone. */
export type Price =
  /** Nothing, unless `token_costs` names a price for it: machines ask it at the pace of packets. */
  | { is: 'free' }
  /** A sign-in, in place of the ordinary price: the name of the setting that holds it. */
  | { is: 'signIn'; setting: 'user_auth_tokens' | 'api_auth_tokens' }
  /** Paid a second time, from the bucket that the account has for this application of `token_buckets`. */
  | { is: 'twice'; bucket: string }
  /** Has a password derived when one of these keys is in the data: `derivation_tokens` beside the ordinary price. */
  | { is: 'secret'; keys: readonly string[] }
  /** Starts a call, which is paid beside the request; HEAD does not do it. */
  | { is: 'call'; extra: ExtraCost }

/** A cost that stands in `token_costs` as `action`, under one of these resources: the first that has it counts. */
export interface ExtraCost {
  action: string
  under: readonly string[]
}
