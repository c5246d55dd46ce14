import { execFileSync, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Sabotage, sandboxContract } from '../contract/sandbox-contract.ts'
import { noSandbox } from '../none/none.ts'
import type { Guest, GuestFile } from '../sandbox.ts'
import { sandboxSuite } from '../testing/sandbox-suite.ts'
import { Trial } from '../testing/trial.ts'
import { bubblewrap } from './bubblewrap.ts'

const changed = (change: (words: string[]) => string[]) =>
  bubblewrap({
    tamper: (making) => ({ ...making, arguments: change([...making.arguments]) }),
  })

/** What is not there to be left out would make a sabotage that is none. */
const without = (...words: readonly string[]) =>
  changed((all) => all.toSpliced(placeOf(all, words), words.length))
const instead = (words: readonly string[], others: readonly string[]) =>
  changed((all) => all.toSpliced(placeOf(all, words), words.length, ...others))
/** Before the root is closed. */
const withMore = (...words: readonly string[]) =>
  changed((all) => all.toSpliced(placeOf(all, ['--chdir']), 0, ...words))

function placeOf(all: readonly string[], words: readonly string[]): number {
  const at = all.findIndex((_, index) => words.every((word, i) => all[index + i] === word))
  if (at < 0) throw new Error(`no ${words.join(' ')} among the arguments`)
  return at
}

const leaked = openSync('/etc/hostname', 'r')
afterAll(() => closeSync(leaked))

const addInterface = ({ process: { pid } }: Guest): void => {
  const link = ['link', 'add', 'second0', 'type', 'veth', 'peer', 'name', 'second1']
  execFileSync('nsenter', ['--target', `${pid}`, '--net', 'ip', ...link])
}

const sabotages: readonly Sabotage[] = [
  { name: 'the network of the host', found: 'net namespace', sandbox: without('--unshare-net') },
  { name: 'the ipc of the host', found: 'ipc namespace', sandbox: without('--unshare-ipc') },
  {
    name: 'the cgroups of the host',
    found: 'cgroup namespace',
    sandbox: without('--unshare-cgroup'),
  },
  {
    name: 'the name of the host',
    found: 'uts namespace',
    sandbox: changed((all) => {
      const named = all.toSpliced(placeOf(all, ['--hostname']), 2)
      return named.toSpliced(placeOf(named, ['--unshare-uts']), 1)
    }),
  },
  { name: 'one mount more', found: 'mount', sandbox: withMore('--ro-bind', '/etc', '/host') },
  {
    name: 'a mount over another',
    found: 'mount',
    sandbox: withMore('--ro-bind', '/var', '/usr/local'),
  },
  { name: 'a root that can be written', found: 'mount', sandbox: without('--remount-ro', '/') },
  { name: 'devices that can be changed', found: 'mount', sandbox: without('--remount-ro', '/dev') },
  {
    name: 'programs that can be written',
    found: 'mount',
    sandbox: instead(['--ro-bind', '/usr', '/usr'], ['--bind', '/usr', '/usr']),
  },
  {
    name: 'a device that is not planned',
    found: 'mount',
    sandbox: withMore('--dev-bind', '/dev/ptmx', '/mnt'),
  },
  {
    name: 'no filter',
    found: 'seccomp',
    // Read, and not used.
    sandbox: instead(['--seccomp', '6'], ['--file', '6', '/etc/filter']),
  },
  { name: 'root inside', found: 'uid map', sandbox: instead(['--uid', '1000'], ['--uid', '0']) },
  {
    name: 'another group inside',
    found: 'gid map',
    sandbox: instead(['--gid', '1000'], ['--gid', '0']),
  },
  {
    name: 'a capability',
    found: 'effective capabilities',
    sandbox: instead(['--cap-drop', 'ALL'], ['--cap-add', 'CAP_SYS_ADMIN']),
  },
  {
    name: 'a variable more',
    found: 'environment',
    sandbox: instead(['--clearenv'], ['--clearenv', '--setenv', 'AWS_SECRET_ACCESS_KEY', 'x']),
  },
  {
    name: 'a descriptor more',
    found: 'descriptors',
    sandbox: bubblewrap({ tamper: (making) => ({ ...making, passed: new Map([[30, leaked]]) }) }),
  },
  {
    name: 'a larger temporary folder',
    found: 'mount',
    sandbox: changed((all) => {
      const at = placeOf(all, ['--tmpfs', '/tmp'])
      return all.with(at - 1, '2147483648')
    }),
  },
]

const privileged: readonly Sabotage[] = [
  {
    name: 'a second interface',
    found: 'interfaces',
    sandbox: bubblewrap(),
    meanwhile: addInterface,
  },
]

await sandboxSuite(bubblewrap(), () => {
  sandboxContract(bubblewrap(), [...sabotages, ...(process.getuid?.() === 0 ? privileged : [])])
  describe('bubblewrap: the walls', wallsSuite)
})

function wallsSuite(): void {
  let trial: Trial
  beforeEach(() => {
    trial = new Trial()
  })
  afterEach(() => trial.end())
  const run = (script: string, more = {}, files: readonly GuestFile[] = []) =>
    trial.run(bubblewrap(), script, more, files)

  test('every process inside has the filter, the first one too', async () => {
    const { stdout } = await run('(sleep 0 & grep -h ^Seccomp: /proc/[0-9]*/status)')
    const modes = new Set(stdout.trim().split('\n'))
    expect(modes).toEqual(new Set(['Seccomp:\t2']))
  })

  test('nothing of the host but programs, libraries and the workspace is to be seen', async () => {
    const { stdout } = await run('ls /; ls /home /run; ls /etc | grep -c shadow')
    const names = new Set(
      stdout
        .trim()
        .split('\n')
        .filter((line) => !line.endsWith(':')),
    )
    for (const name of ['root', 'srv', 'boot', 'opt', 'sys']) expect(names).not.toContain(name)
    expect(names).toContain('workspace')
    expect(stdout.trim().endsWith('\n0')).toBe(true)
  })

  test('what belongs to the host cannot be written, also where the launcher is root', async () => {
    // Opened, and not written: the test must do no harm where it fails.
    const files = '/usr/bin/env /etc/passwd /etc/hosts /proc/sys/kernel/core_pattern'
    const { stdout } = await run(
      `for f in ${files}; do (: >> $f) 2>/dev/null && echo "$f"; done
      for d in / /usr /etc /dev /run; do test -w $d && echo "$d"; done
      for f in /tmp/x ~/x ./x; do (: >> $f) && echo control; done`,
    )
    expect(stdout).toBe('control\ncontrol\ncontrol\n')
  })

  test('what is given beside the workspace is there, read-only unless said otherwise', async () => {
    const [one, two] = [join(trial.root, 'one'), join(trial.root, 'two')]
    for (const folder of [one, two]) mkdirSync(folder)
    writeFileSync(join(one, 'given'), 'given')
    const mounts = [
      { from: one, at: '/opt/one' },
      { from: two, at: '/home/guest/two', writable: true },
    ]
    const files = [{ at: '/home/guest/.config/tool.json', text: '{"a":1}' }]
    const script = `cat /opt/one/given ~/.config/tool.json; echo x > ~/two/made
      (echo x > /opt/one/made) 2>/dev/null || echo refused; (echo x >> ~/.config/tool.json) 2>/dev/null || echo refused`
    const { stdout } = await run(script, { mounts }, files)
    expect(stdout).toBe('given{"a":1}refused\nrefused\n')
  })

  test('a folder that is covered is seen empty, and what is written there stays nowhere', async () => {
    mkdirSync(join(trial.workspace, '.settings'))
    writeFileSync(join(trial.workspace, '.settings/hooks'), 'mine')
    const script = 'ls .settings; echo theirs > .settings/hooks && cat .settings/hooks'
    const covered = ['/workspace/.settings']
    expect((await run(script, { covered })).stdout).toBe('theirs\n')
    expect(readFileSync(join(trial.workspace, '.settings/hooks'), 'utf8')).toBe('mine')
    expect(() => noSandbox().plan(trial.spec(script, { covered }))).toThrow(
      expect.objectContaining({ code: 'not_enforceable' }),
    )
    expect((await run(script)).stdout).toBe('hooks\ntheirs\n')
    expect(readFileSync(join(trial.workspace, '.settings/hooks'), 'utf8')).toBe('theirs\n')
  })

  test('nothing that is given may show the data folder', () => {
    for (const from of [trial.dataFolder, trial.root]) {
      const mounts = [{ from, at: '/opt/data' }]
      expect(() => bubblewrap().plan(trial.spec('true', { mounts }))).toThrow(
        expect.objectContaining({ code: 'workspace_refused', field: '/opt/data' }),
      )
    }
  })

  test('more processes than planned cannot be started, except where root launches', async (context) => {
    if (process.getuid?.() === 0)
      return context.skip('the kernel does not count the processes of root')
    const limits = { processes: 8 }
    const { stderr } = await run('for i in 1 2 3 4 5 6 7 8 9; do sleep 5 & done', { limits })
    expect(stderr).toMatch(/fork/i)
    return undefined
  })

  test('a temporary folder holds no more than planned', async () => {
    const limits = { temporaryKiB: 1024 }
    const script =
      'for d in /tmp ~ /dev/shm; do head -c 2000000 /dev/zero > $d/x || echo full; done'
    const { stdout } = await run(script, { limits })
    expect(stdout).toBe('full\nfull\nfull\n')
  })

  /** One end of a pair is aimed at a socket file of the host that is in sight; what comes of it. */
  const datagram = `use Socket; socketpair(my $a, my $b, AF_UNIX, SOCK_DGRAM, 0) or exit 3;
    connect($a, sockaddr_un('host.sock')) or exit 4; send($a, 'escaped', 0); exit 0`
  const receiver = `use Socket; $| = 1; socket(my $s, AF_UNIX, SOCK_DGRAM, 0); bind($s, sockaddr_un($ARGV[0]));
    print "ready\n"; recv($s, my $b, 99, 0); print "$b\n"`

  test('no datagram leaves by a socket pair; without the filter one does', async () => {
    const path = join(trial.workspace, 'host.sock')
    const host = spawn('perl', ['-e', receiver, path], { stdio: ['ignore', 'pipe', 'inherit'] })
    let heard = ''
    host.stdout.on('data', (data) => {
      heard += data
    })
    await expect.poll(() => heard, { timeout: 10_000 }).toContain('ready')
    const command = ['perl', '-e', datagram]
    expect((await trial.run(bubblewrap(), '', { command })).code).toBe(3)
    expect(heard).toBe('ready\n')
    expect((await trial.run(noSandbox(), '', { command })).code).toBe(0)
    await expect.poll(() => heard, { timeout: 10_000 }).toBe('ready\nescaped\n')
  })

  test('a sandbox within works where that was planned, and nowhere else', async (context) => {
    if (process.getuid?.() === 0)
      return context.skip('what covers /proc for root keeps others from mounting their own')
    const inner = 'bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev echo inner'
    expect((await run(inner)).stdout).toBe('')
    expect((await run(inner, { nesting: true })).stdout).toBe('inner\n')
    return undefined
  })

  test('user namespaces are to be had only where nesting was planned', async () => {
    const script = 'unshare --user true && echo made'
    expect((await run(script)).stdout).toBe('')
    expect((await run(script, { nesting: true })).stdout).toBe('made\n')
  })
}
