"""The machine code of ``handler.c`` for x86-64. ``python -m torchlike.engine.onednn.build`` writes this file."""

import base64
import zlib

COMPILER = "12.2.0"
ENTRIES = {"handler": 1743, "serve": 1306, "run": 1436, "stop": 1655, "place": 1738, "lend": 1123, "give_back": 1236}

CODE = zlib.decompress(base64.b85decode(
    "c-l=>ZETZO6z*sTB@Egyj1Ae3PO53t=-$YWHH4&<RnHr4lVT|lKHL%*83JL!HqN*Wu&a2zc|k?wBm5vCM$LW<vqXXEXxEK>Xaq)rm?&1{qsxn<A%P7+uIJphV=n35`*F"
    "^>=RD`R&ke;xE1B_SbD7N+2YxRG{2}AFLQz=>sh%q~{7Y2ef{ZyKH6+ajZ5VjO10pqqTR8MWI+K`-^9yR;<TYmj@3b~M)tb?B5`#0NvxpxVL*K9mosx4HzsdL=8FQPrO"
    "DBl1d+oXnq4l8+IXLy~qGvj;AG`ab&Wm_xZ#R0|@CSj5ZFBWk977<p;OaVOj)VB_6djZ;EMQ`PhKBNIs4nV8MHWN=(lYTpMhL8SCKsZ2t36qnW8&$Es2Yj{sz#FK7|FZ"
    "|GJ`(mNG`Nm=Q6Y^guujOkh<*$@j9mVG80YC9!jF9yR!8jomK-L*S=42Nq2Squ8o3G=ktWM`@k3YfY<q)ko~J%x7WLM{u>Lt=xbXMN#9R0Ed!zzH_-y4EcVGbu#H99TB"
    "r*~YYCq-Bv$&|Wap9bC~m7Em139iH6R^6J=O0uzXtK1Q^p(6+0{`mrHt@*yko0y0I7bz1!d^XP(2n!73ut*DvCeEx@tkZ1ftCiOL|UHo9D?`4Rru`ism4ewJ_1>##XsH"
    "PEd`hM`f;kM{p!Bz+tp1kkwLYx7l2K-^Z~g!8lOFLGNxdIza!^nU=SZ9AtVrNcKly;=xCP=4S{?xODBb`c8~O^=CQqCU~q7q(>7KVC<CC>gv1Z9qLhP(w)4j2Y%W$UmL"
    "FD*T7i1g;>F_%2*Sg^cDF9!k+f!AbO6gAcR@Wj|>oTPjAqoq}t(vKB2Q^)`VPT%!~D=9Tbvy%2mLycAW(p{q2kNt^FRbhih~Zcj~eq1Ryh-u}`&NUpyjXLGu^Owzj>R@"
    "jRJi^A7X~qM1{fbsty91kGQWNUjNMe}^^60^6Z|OC&9mo3zo$)*BvXZ;S$8Pb69C^MjGFMqZs*!T2VmM(Uq3#uGkI`#h}7So+$(*z{PFiFOl(08Vs)9C39a3w1fbkUf4"
    "(rCcvNXMTb(9ab=@;@TIMkRp&WSh0nTg=DI~mhs8|5sAnnS2yFOe@@0)kOxatbCV<qA1Z98DWJ)9GQTdT^9OLYac5)G)*U;x!Jfx9H?nOu-YPHS=VcxOhiYfoY^~!=><"
    "!K!o=wWcpNwZCypQn=Ok4!l_rtoYbEL>z-y9;7M7hp0=4IG8j0&)yyfJb6{u=V;vva^Fq4&vwFML4jEtMelktOgE$X=TXfxcaKx!JD>34?u)5k8)UOMOMC{+!OpSrRa%"
    "jU{1}mCWcaDt1^3h(hL?k~n^o#OwwNXP$&Jc?*P6!jii2KY))Hc0Q647j!;=5-Y-p!32VBnQeE&VAxZpdf_pTl_aQiThpk#!~<iSMFzL4<0yGq398(tlfv8UOg2wRcyc"
    "ogrt+44D$5HpR!d4gu96aT-$Q($aQUH>+Wk6y2Y9#A08BDgqeA25=Blhxu_WY1Pf60P0?jII6i2`h<Smg<;R{C}pc?T3q7v{zN#3zAFuEvlRUbYB2<!<3>|p9jDbwk45"
    "_2$^I>l{{J;B$cD$$o>%KX?c9yA5m57T_R9aZf@wZ=GJ5J9Bsa<?YWpm5oEizoH2*Os)46+RxVGH0fCdF_c=T4rp%^4d$6fr&5FtAe-)T#KqZUsy|ZiRCDxZ#RI^>Wk`"
    "z0~Ntds)e0+)yoWrrUx>~nW$ObcGT8`A6vTW#wTL1&KLEnpb6g^YG(tkG|eX9qBUa&EgcLDwLQheGKdIACW47G?ifT3#K+30I8XaUwcq@|{j9amTYWVo8-7ZfG^9{DiR"
    "qG-d+BwMLm*;qO4~`PI4Kp^!3=SNA+x?k0vVL8QMcPkOCEfzyz-42*wasN65_f40N<WNR{"
))  # fmt: skip
