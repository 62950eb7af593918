export const periods = ['per_minute', 'per_second'] as const
export const counters = ['registrations', 'invites', 'total_packets'] as const
