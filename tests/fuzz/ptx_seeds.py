"""Small PTX kernels, one for each family of instructions. All have the same head, so that lines of one make sense in another."""
import re

HEAD = """.version 9.0
.target sm_90a
.address_size 64
.global .align 16 .b8 g[64]={1,2,3};
.const .align 4 .u32 c[4]={1,2,3,4};
"""
ENTRY = """.visible .entry k(.param .u64 x,.param .u64 y,.param .align 64 .b8 m[128],.param .u32 n){
.reg .pred p<4>; .reg .b16 h<8>; .reg .b32 r<16>; .reg .b64 d<8>; .reg .f32 f<16>; .reg .f64 e<4>;
.shared .align 128 .b8 s[4096]; .local .align 16 .b8 l[64];
ld.param.u64 d0,[x]; ld.param.u64 d1,[y]; ld.param.u32 r0,[n]; mov.u32 r1,%tid.x; mov.u64 d3,m; cvta.param.u64 d3,d3;
mul.wide.u32 d2,r1,16; add.u64 d2,d0,d2; mov.u32 r2,s; shl.b32 r3,r1,4; add.u32 r3,r2,r3; setp.lt.u32 p0,r1,7;
"""

BODIES = [
    "add.s32 r4,r1,3;\nsub.cc.u32 r5,r4,r0;\nsubc.u32 r6,r5,0;\nmad.wide.s32 d4,r4,r5,d2;\nmul.hi.u64 d5,d4,d2;\ndiv.s32 r7,r4,r0;\n"
    "rem.u64 d5,d4,d1;\nmad24.lo.u32 r4,r4,r5,r6;\nsad.s16 h0,h1,h2,h3;\ndp4a.s32.u32 r4,r5,r6,r7;\ndp2a.hi.u32.u32 r4,r5,r6,r7;",
    "lop3.b32 r4,r1,r0,r3,0x96;\nprmt.b32 r5,r4,r1,0x5410;\nbfe.s32 r6,r5,3,9;\nbfi.b64 d4,d2,d1,4,8;\nbfind.shiftamt.u64 r7,d4;\n"
    "shf.l.wrap.b32 r4,r5,r6,7;\nfns.b32 r5,r4,0,2;\nbmsk.clamp.b32 r6,r4,r5;\nszext.wrap.s32 r6,r4,r5;\npopc.b64 r4,d4;\nbrev.b32 r5,r4;",
    "vadd.s32.u32.s32.sat r4,r1.b0,r0.h1,r3;\nvset4.u32.s32.lt.add r4,r1,r0,r3;\nvavrg2.s32.s32.s32 r4,r1.h10,r0.h32,r3;",
    "cvt.rn.f32.u32 f0,r1;\nfma.rz.ftz.sat.f32 f1,f0,f0,f0;\ndiv.full.f32 f2,f1,f0;\nrcp.rn.f64 e0,e1;\nex2.approx.f32 f3,f0;\n"
    "max.NaN.xorsign.abs.f32 f4,f0,f1;\ntestp.subnormal.f32 p1,f0;\nsin.approx.f32 f5,f4;\ncopysign.f64 e1,e0,e2;\nmin.f32 f6,f1,f2;",
    "fma.rn.relu.f16x2 r4,r5,r6,r7;\nadd.sat.f16 h0,h1,h2;\nex2.approx.ftz.bf16x2 r4,r5;\nmax.NaN.bf16 h3,h4,h5;\ntanh.approx.f16 h0,h1;",
    "setp.lt.and.f32 p1|p2,f0,f1,!p0;\nset.eq.u32.f16 r4,h0,h1;\nselp.b64 d4,d1,d2,p1;\nslct.u32.f32 r5,r4,r1,f0;\n@!p1 mov.b32 r5,7;",
    "cvt.rni.sat.s8.f32 h0,f0;\ncvt.rn.satfinite.e4m3x2.f32 h1,f0,f1;\ncvt.rn.f16x2.e5m2x2 r4,h1;\ncvt.rna.tf32.f32 r5,f0;\n"
    "cvt.rz.f32.f64 f2,e0;\ncvt.rn.bf16x2.f32 r6,f0,f1;\ncvt.s64.s8 d4,h0;\ncvt.pack.sat.u8.s32.b32 r4,r5,r6,r7;",
    "mov.b64 {r4,r5},d2;\nmov.b32 {h0,h1},r4;\ncvta.shared.u64 d4,d2;\nisspacep.shared p1,d4;\nmov.u64 d5,g;\nmov.u32 r4,%laneid;\n"
    "mov.u32 r5,%ctaid.x;\nmov.u64 d4,%clock64;\nmov.u32 r6,%cluster_ctarank;\nmov.u32 r7,%lanemask_lt;",
    "ld.global.v4.u32 {r4,r5,r6,r7},[d2];\nst.shared.v2.b32 [r3+8],{r4,r5};\nld.shared.s8 h0,[r3+8];\nst.local.u64 [l+8],d2;\n"
    "ld.local.u64 d4,[l+8];\nld.const.u32 r4,[c+4];\nld.global.nc.L1::evict_last.f32 f0,[d0+4];\nst.volatile.global.u8 [d1],h0;\nld.relaxed.gpu.u32 r5,[d1];",
    "atom.global.add.u32 r4,[d1],r1;\natom.shared.cas.b32 r5,[r2],r4,r1;\nred.global.max.s64 [d1+8],d2;\natom.add.noftz.f16x2 r4,[d1],r5;\n"
    "red.release.gpu.global.inc.u32 [d1],r0;\natom.acq_rel.cta.exch.b64 d4,[d2],d1;\natom.global.add.v2.f32 {f0,f1},[d2],{f2,f3};",
    ".reg .b128 q<3>;\nmov.b128 q0,{d0,d1};\natom.global.cas.b128 q1,[d2],q0,q0;\natom.shared.exch.b128 q2,[r2],q1;\nst.global.b128 [d2],q2;\n"
    "ld.global.b128 q1,[d2];\nmov.b128 {d4,d5},q1;\nmov.u32 r4,%envreg1;\nmov.u32 r5,%envreg2;\nmov.b64 d4,{r5,r4};\n"
    "atom.add.u32 r6,[d4],1;\nmov.u32 r7,%reserved_smem_offset_1;\nst.shared.u32 [r7],r1;",
    "cp.async.cg.shared.global [r3],[d2],16;\ncp.async.ca.shared.global [r3],[d2],4,2;\ncp.async.commit_group;\ncp.async.wait_group 0;\nld.shared.u32 r4,[r3];",
    "setp.ne.u32 p1,r1,0;\n@p1 bra A;\nmbarrier.init.shared.b64 [s],64;\nA:\nbar.sync 0;\nmbarrier.arrive.shared.b64 d4,[s];\nB:\n"
    "mbarrier.try_wait.shared.b64 p1,[s],d4;\n@!p1 bra B;\nmbarrier.inval.shared.b64 [s];",
    "setp.ne.u32 p1,r1,0;\n@p1 bra A;\nmbarrier.init.shared.b64 [s],1;\nmbarrier.arrive.expect_tx.shared.b64 d4,[s],128;\n"
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s+128],[d1],128,[s];\nA:\nbar.sync 0;\n"
    "B:\nmbarrier.test_wait.parity.shared.b64 p2,[s],0;\n@!p2 bra B;",
    "setp.ne.u32 p1,r1,0;\n@p1 bra A;\nmbarrier.init.shared.b64 [s],1;\nmbarrier.arrive.expect_tx.shared.b64 d4,[s],256;\n"
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s+128],[d3,{r0,r0}],[s];\nA:\nbar.sync 0;\n"
    "B:\nmbarrier.try_wait.parity.shared.b64 p2,[s],0;\n@!p2 bra B;\n"
    "@!p1 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [d3,{r0,r0}],[s+128];\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [d1],[s],64;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n"
    "cp.async.bulk.prefetch.L2.global [d1],64;\nfence.proxy.async;\nprefetch.tensormap [d3];\n"
    "tensormap.replace.tile.global_address.global.b1024.b64 [d1],d0;",
    "mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f16 {f0,f1,f2,f3,f4,f5,f6,f7},{r4,r5},{r6,r7},{r8,r9,r10,r11};\n"
    "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {r4,r5,r6,r7},{r4,r5,r6,r7},{r4,r5},{r4,r5,r6,r7};\n"
    "wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {r4,r5},{r6},{r7},{r8,r9};\nmovmatrix.sync.aligned.m8n8.trans.b16 r4,r5;\n"
    "mma.sync.aligned.m8n8k4.row.col.rm.f64.f64.f64.f64 {e0,e1},{e2},{e3},{e0,e1};",
    "mov.b64 d5,24;\nstacksave.u64 d4;\nalloca.u64 d5,d5,32;\nst.local.u32 [d5+20],r1;\nstackrestore.u64 d4;\nlop3.and.b32 r4|p1,r1,r0,r3,0x96,!p0;\n"
    "cp.async.ca.shared.global [r3],[d2],8,p1;\ncp.async.wait_all;\nmov.pred p2,%is_explicit_cluster;\nmov.u32 r5,%aggr_smem_size;\n"
    "fma.rn.oob.relu.bf16x2 r4,r5,r6,r7;\ncvt.pack.sat.s4.s32.b32 r4,r5,r6,r7;\n.local .b32 one,two;\nst.local.u32 [two],r4;",
    "mapa.shared::cluster.u32 r4,r2,1;\ngetctarank.shared::cluster.u32 r5,r4;\nst.shared::cluster.u32 [r4],r1;\nbarrier.cluster.arrive.release;\n"
    "barrier.cluster.wait.acquire;\nsetmaxnreg.inc.sync.aligned.u32 64;",
    "shfl.sync.bfly.b32 r4|p1,r1,3,31,-1;\nvote.sync.ballot.b32 r5,p1,-1;\nmatch.any.sync.b32 r6,r1,-1;\nredux.sync.add.s32 r7,r1,-1;\n"
    "elect.sync r4|p2,-1;\nactivemask.b32 r5;\nvote.sync.uni.pred p3,p0,-1;\nbar.warp.sync -1;",
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {r4,r5,r6,r7},[r3];\nstmatrix.sync.aligned.m8n8.x2.shared.b16 [r3],{r4,r5};\n"
    "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {f0,f1,f2,f3},{r4,r5,r6,r7},{r4,r5},{f0,f1,f2,f3};\n"
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f0,f1,f2,f3},{r4,r5,r6,r7},{r4,r5},{f0,f1,f2,f3};\n"
    "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f0,f1,f2,f3},{r4,r5},{r4,r5},{f0,f1,f2,f3},r6,0x0;\n"
    "mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.u8.s32 {r4,r5,r6,r7},{r4,r5,r6,r7},{r4,r5,r6,r7},{r4,r5,r6,r7},r8,0;\n"
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {e0,e1},{e2},{e3},{e0,e1};",
    "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {r4,r5,r6,r7,r8,r9,r10,r11},[r2],16;\n"
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {f0,f1,f2,f3,f4,f5,f6,f7},{r4,r5,r6,r7,r8,r9,r10,r11},"
    "{r4,r5,r6,r7,r8,r9,r10,r11},{f0,f1,f2,f3,f4,f5,f6,f7};\nwmma.store.d.sync.aligned.row.m16n16k16.global.f32 [d1],{f0,f1,f2,f3,f4,f5,f6,f7},16;",
    "shr.u32 r4,r2,4;\ncvt.u64.u32 d4,r4;\nor.b64 d4,d4,0x10000;\nwgmma.fence.sync.aligned;\n"
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f0,f1,f2,f3},d4,d4,p0,1,1,0,0;\nwgmma.commit_group.sync.aligned;\n"
    "wgmma.wait_group.sync.aligned 0;\nst.global.f32 [d2],f0;",
    "bar.arrive 1,64;\nbar.sync 1,64;\nbarrier.cta.red.popc.aligned.u32 r4,0,p0;\nbar.red.and.pred p1,0,p0;\nmembar.gl;\nfence.acq_rel.cluster;",
    "mov.u32 r4,0;\nA:\nadd.u32 r4,r4,1;\nsetp.lt.u32 p1,r4,r1;\n@p1 bra A;\nT: .branchtargets A,Z;\nsetp.gt.u32 p2,r4,3;\nselp.u32 r5,1,0,p2;\nbrx.idx r5,T;\n@p0 exit;\nnanosleep.u32 20;\n@p0 trap;",
    "{ .param .b32 a0; .param .b32 b0; st.param.b32 [a0],r1;\ncall.uni (b0),twice,(a0);\nld.param.b32 r4,[b0]; }\nst.global.u32 [d2],r4;",
    "{ .param .b64 a0; .param .b64 b0; .param .b32 c0; st.param.b64 [a0],d0; st.param.b64 [b0],d1;\ncall (c0),vprintf,(a0,b0);\nld.param.b32 r4,[c0]; }\n"
    "griddepcontrol.wait;\ncreatepolicy.fractional.L2::evict_last.b64 d4,1.0;\ndiscard.global.L2 [d1],128;",
    "{ .param .b32 a0; .param .b32 b0; st.param.b32 [a0],r1; mov.u64 d4,twice;\ncall (b0),deep,(a0);\nld.param.b32 r4,[b0];\n"
    "@p0 mov.u64 d4,deep;\nP: .callprototype (.param .b32 _) _ (.param .b32 _);\ncall (b0),d4,(a0),P;\nld.param.b32 r5,[b0]; }",
    "{ .param .b64 a0; .param .b64 b0; st.param.b64 [a0],24;\ncall.uni (b0),malloc,(a0);\nld.param.b64 d4,[b0];\nst.u32 [d4],r1;\n"
    "st.param.b64 [a0],d4;\ncall.uni free,(a0); }",
]
HELPERS = (".extern .func (.param .b32 r) vprintf(.param .b64 a,.param .b64 b);\n"
           ".func (.param .b32 o) twice(.param .b32 i){.reg .b32 a; ld.param.b32 a,[i]; add.u32 a,a,a; st.param.b32 [o],a; ret;}\n"
           ".func (.param .b32 o) deep(.param .b32 i){.reg .b32 a; .reg .pred z; .param .b32 s; .param .b32 t; .local .b32 l[2];\n"
           "ld.param.b32 a,[i];\nsub.u32 a,a,1;\nsetp.lt.s32 z,a,1;\nst.local.b32 [l+4],a;\nst.param.b32 [s],a;\n@!z call (t),deep,(s);\n"
           "ld.local.b32 a,[l+4];\nst.param.b32 [o],a;\nret;}\n"
           ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n")


def kernels():
    return [(HEAD + (HELPERS if "call" in body else "") + ENTRY + body + "\nZ:\nret;\n}\n") for body in BODIES]


def dictionary():
    """Every name, modifier and special register of the kernels, and modifiers that they lack, for libFuzzer's -dict."""
    words = set(re.findall(r"\.[a-zA-Z_][\w:]*|%\w+(?:\.\w)?|^[a-z]\w+(?=\.)", "\n".join(kernels()), re.M))
    words |= {"." + word for word in """rm rp ru approx full oc gt ge ne ltu leu gtu geu equ neu num nan hi ls hs xor or not dec exch up down idx all
        any u16 s64 b1 s4 u4 u16x2 e2m1x2 b128 v8 trans col ptr align func entry extern weak im2col im2col_no_offs cta_group multicast::cluster
        cache_hint sys cluster acquire seq_cst noinc remote space async mma_async m16n8k8 m16n8k4 m64n16k32 row x1 sp popc arrive 1d 3d 4d 5d
        interleave alias branchtargets pragma loc file reg param local const shared maxntid reqntid reqnctapercluster""".split()}
    return "".join(f'"{word}"\n' for word in sorted(words))
