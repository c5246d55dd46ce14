/** Who launches: whatever the guest is inside, for the kernel it is this user. */
export interface OwnUser {
  readonly hostUid: number
  readonly hostGid: number
  readonly hostGroups: number[]
}

export function ownUser(): OwnUser {
  const [uid, gid, groups] = [process.getuid?.(), process.getgid?.(), process.getgroups?.()]
  if (uid === undefined || gid === undefined || groups === undefined)
    throw new TypeError('a system without users')
  return { hostUid: uid, hostGid: gid, hostGroups: groups }
}
