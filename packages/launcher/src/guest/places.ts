/** Where a guest finds things. The same in every sandbox that has walls. */
export const guestPlaces = {
  workspace: '/workspace',
  home: '/home/guest',
  temporary: '/tmp',
  /** The session's socket is in it. */
  channel: '/run/sallyport',
} as const

/** Whom it is inside: nobody in particular, and not the number that unknown owners are shown with. */
export const guestUser = { name: 'guest', uid: 1000, gid: 1000 } as const
export const guestHostname = 'guest'
