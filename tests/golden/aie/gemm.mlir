#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (k, n)>
#acc = affine_map<(m, n, k) -> (m, n)>
module {
  aie.device(npu2) {
    %shim_0_0 = aie.tile(0, 0)
    %shim_1_0 = aie.tile(1, 0)
    %mem_0_1 = aie.tile(0, 1)
    %mem_1_1 = aie.tile(1, 1)
    %core_0_2 = aie.tile(0, 2)
    %core_1_2 = aie.tile(1, 2)
    %core_0_3 = aie.tile(0, 3)
    %core_1_3 = aie.tile(1, 3)
    aie.objectfifo @a_0_l2(%shim_0_0, {%mem_0_1}, 2 : i32) : !aie.objectfifo<memref<1024xbf16>>
    aie.objectfifo @a_0(%mem_0_1 dimensionsToStream [<size = 4, stride = 256>, <size = 4, stride = 8>, <size = 8, stride = 32>, <size = 8, stride = 1>], {%core_0_2, %core_1_2}, 2 : i32) : !aie.objectfifo<memref<1024xbf16>>
    aie.objectfifo @a_1_l2(%shim_1_0, {%mem_1_1}, 2 : i32) : !aie.objectfifo<memref<1024xbf16>>
    aie.objectfifo @a_1(%mem_1_1 dimensionsToStream [<size = 4, stride = 256>, <size = 4, stride = 8>, <size = 8, stride = 32>, <size = 8, stride = 1>], {%core_0_3, %core_1_3}, 2 : i32) : !aie.objectfifo<memref<1024xbf16>>
    aie.objectfifo @b_0_l2(%shim_0_0, {%mem_0_1}, 2 : i32) : !aie.objectfifo<memref<1024xbf16>>
    aie.objectfifo @b_0(%mem_0_1 dimensionsToStream [<size = 4, stride = 256>, <size = 4, stride = 8>, <size = 8, stride = 32>, <size = 8, stride = 1>], {%core_0_2, %core_0_3}, 2 : i32) : !aie.objectfifo<memref<1024xbf16>>
    aie.objectfifo @b_1_l2(%shim_1_0, {%mem_1_1}, 2 : i32) : !aie.objectfifo<memref<1024xbf16>>
    aie.objectfifo @b_1(%mem_1_1 dimensionsToStream [<size = 4, stride = 256>, <size = 4, stride = 8>, <size = 8, stride = 32>, <size = 8, stride = 1>], {%core_1_2, %core_1_3}, 2 : i32) : !aie.objectfifo<memref<1024xbf16>>
    aie.objectfifo @c_out_0_2(%core_0_2, {%mem_0_1}, 2 : i32) : !aie.objectfifo<memref<1024xf32>>
    aie.objectfifo @c_out_0_3(%core_0_3, {%mem_0_1}, 2 : i32) : !aie.objectfifo<memref<1024xf32>>
    aie.objectfifo @c_out_0_l2(%mem_0_1 dimensionsToStream [<size = 8, stride = 256>, <size = 8, stride = 8>, <size = 4, stride = 64>, <size = 8, stride = 1>], {%shim_0_0}, 2 : i32) : !aie.objectfifo<memref<2048xf32>>
    aie.objectfifo @c_out_1_2(%core_1_2, {%mem_1_1}, 2 : i32) : !aie.objectfifo<memref<1024xf32>>
    aie.objectfifo @c_out_1_3(%core_1_3, {%mem_1_1}, 2 : i32) : !aie.objectfifo<memref<1024xf32>>
    aie.objectfifo @c_out_1_l2(%mem_1_1 dimensionsToStream [<size = 8, stride = 256>, <size = 8, stride = 8>, <size = 4, stride = 64>, <size = 8, stride = 1>], {%shim_1_0}, 2 : i32) : !aie.objectfifo<memref<2048xf32>>
    aie.objectfifo.link [@a_0_l2] -> [@a_0] ([] [])
    aie.objectfifo.link [@a_1_l2] -> [@a_1] ([] [])
    aie.objectfifo.link [@b_0_l2] -> [@b_0] ([] [])
    aie.objectfifo.link [@b_1_l2] -> [@b_1] ([] [])
    aie.objectfifo.link [@c_out_0_2, @c_out_0_3] -> [@c_out_0_l2] ([0, 1024] [])
    aie.objectfifo.link [@c_out_1_2, @c_out_1_3] -> [@c_out_1_l2] ([0, 1024] [])
    %acc_0_2 = aie.buffer(%core_0_2) {sym_name = "acc_0_2"} : memref<1024xf32>
    aie.core(%core_0_2) {
      %c9223372036854775807 = arith.constant 9223372036854775807 : index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %cst = arith.constant dense<0.0> : vector<16xf32>
      %c16 = arith.constant 16 : index
      %c2 = arith.constant 2 : index
      %c512 = arith.constant 512 : index
      %c128 = arith.constant 128 : index
      %c256 = arith.constant 256 : index
      %c320 = arith.constant 320 : index
      %c4 = arith.constant 4 : index
      scf.for %launch = %c0 to %c9223372036854775807 step %c1 {
        %taken = aie.objectfifo.acquire @c_out_0_2(Produce, 1) : !aie.objectfifosubview<memref<1024xf32>>
        %c_out = aie.objectfifo.subview.access %taken[0] : !aie.objectfifosubview<memref<1024xf32>> -> memref<1024xf32>
        scf.for %i = %c0 to %c64 step %c1 {
          %at = arith.muli %i, %c16 : index
          vector.store %cst, %acc_0_2[%at] : memref<1024xf32>, vector<16xf32>
        }
        scf.for %k = %c0 to %c2 step %c1 {
          %taken_1 = aie.objectfifo.acquire @a_0(Consume, 1) : !aie.objectfifosubview<memref<1024xbf16>>
          %a = aie.objectfifo.subview.access %taken_1[0] : !aie.objectfifosubview<memref<1024xbf16>> -> memref<1024xbf16>
          %taken_2 = aie.objectfifo.acquire @b_0(Consume, 1) : !aie.objectfifosubview<memref<1024xbf16>>
          %b = aie.objectfifo.subview.access %taken_2[0] : !aie.objectfifosubview<memref<1024xbf16>> -> memref<1024xbf16>
          scf.for %i_1 = %c0 to %c2 step %c1 {
            scf.for %i_2 = %c0 to %c2 step %c1 {
              %at_1 = arith.muli %i_1, %c512 : index
              %at_2 = arith.muli %i_2, %c128 : index
              %at_3 = arith.addi %at_1, %at_2 : index
              %row = vector.load %acc_0_2[%at_3] : memref<1024xf32>, vector<64xf32>
              %block = vector.shape_cast %row : vector<64xf32> to vector<8x8xf32>
              %at_4 = arith.addi %at_3, %c64 : index
              %row_1 = vector.load %acc_0_2[%at_4] : memref<1024xf32>, vector<64xf32>
              %block_1 = vector.shape_cast %row_1 : vector<64xf32> to vector<8x8xf32>
              %at_5 = arith.addi %at_3, %c256 : index
              %row_2 = vector.load %acc_0_2[%at_5] : memref<1024xf32>, vector<64xf32>
              %block_2 = vector.shape_cast %row_2 : vector<64xf32> to vector<8x8xf32>
              %at_6 = arith.addi %at_3, %c320 : index
              %row_3 = vector.load %acc_0_2[%at_6] : memref<1024xf32>, vector<64xf32>
              %block_3 = vector.shape_cast %row_3 : vector<64xf32> to vector<8x8xf32>
              %k_out:4 = scf.for %k_1 = %c0 to %c4 step %c1 iter_args(%k_acc = %block, %k_acc_1 = %block_1, %k_acc_2 = %block_2, %k_acc_3 = %block_3) -> (vector<8x8xf32>, vector<8x8xf32>, vector<8x8xf32>, vector<8x8xf32>) {
                %at_7 = arith.muli %k_1, %c64 : index
                %at_8 = arith.addi %at_1, %at_7 : index
                %row_4 = vector.load %a[%at_8] : memref<1024xbf16>, vector<64xbf16>
                %block_4 = vector.shape_cast %row_4 : vector<64xbf16> to vector<8x8xbf16>
                %at_9 = arith.addi %at_8, %c256 : index
                %row_5 = vector.load %a[%at_9] : memref<1024xbf16>, vector<64xbf16>
                %block_5 = vector.shape_cast %row_5 : vector<64xbf16> to vector<8x8xbf16>
                %at_10 = arith.muli %k_1, %c256 : index
                %at_11 = arith.addi %at_2, %at_10 : index
                %row_6 = vector.load %b[%at_11] : memref<1024xbf16>, vector<64xbf16>
                %block_6 = vector.shape_cast %row_6 : vector<64xbf16> to vector<8x8xbf16>
                %at_12 = arith.addi %at_11, %c64 : index
                %row_7 = vector.load %b[%at_12] : memref<1024xbf16>, vector<64xbf16>
                %block_7 = vector.shape_cast %row_7 : vector<64xbf16> to vector<8x8xbf16>
                %dot = vector.contract {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %block_4, %block_6, %k_acc : vector<8x8xbf16>, vector<8x8xbf16> into vector<8x8xf32>
                %dot_1 = vector.contract {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %block_4, %block_7, %k_acc_1 : vector<8x8xbf16>, vector<8x8xbf16> into vector<8x8xf32>
                %dot_2 = vector.contract {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %block_5, %block_6, %k_acc_2 : vector<8x8xbf16>, vector<8x8xbf16> into vector<8x8xf32>
                %dot_3 = vector.contract {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %block_5, %block_7, %k_acc_3 : vector<8x8xbf16>, vector<8x8xbf16> into vector<8x8xf32>
                scf.yield %dot, %dot_1, %dot_2, %dot_3 : vector<8x8xf32>, vector<8x8xf32>, vector<8x8xf32>, vector<8x8xf32>
              }
              %row_8 = vector.shape_cast %k_out#0 : vector<8x8xf32> to vector<64xf32>
              vector.store %row_8, %acc_0_2[%at_3] : memref<1024xf32>, vector<64xf32>
              %row_9 = vector.shape_cast %k_out#1 : vector<8x8xf32> to vector<64xf32>
              vector.store %row_9, %acc_0_2[%at_4] : memref<1024xf32>, vector<64xf32>
              %row_10 = vector.shape_cast %k_out#2 : vector<8x8xf32> to vector<64xf32>
              vector.store %row_10, %acc_0_2[%at_5] : memref<1024xf32>, vector<64xf32>
              %row_11 = vector.shape_cast %k_out#3 : vector<8x8xf32> to vector<64xf32>
              vector.store %row_11, %acc_0_2[%at_6] : memref<1024xf32>, vector<64xf32>
            }
          }
          aie.objectfifo.release @a_0(Consume, 1)
          aie.objectfifo.release @b_0(Consume, 1)
        }
        scf.for %i_3 = %c0 to %c64 step %c1 {
          %at_13 = arith.muli %i_3, %c16 : index
          %x = vector.load %acc_0_2[%at_13] : memref<1024xf32>, vector<16xf32>
          vector.store %x, %c_out[%at_13] : memref<1024xf32>, vector<16xf32>
        }
        aie.objectfifo.release @c_out_0_2(Produce, 1)
      }
      aie.end
    } {stack_size = 1024 : i32}
    %acc_0_3 = aie.buffer(%core_0_3) {sym_name = "acc_0_3"} : memref<1024xf32>
    aie.core(%core_0_3) {
      %c9223372036854775807 = arith.constant 9223372036854775807 : index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %cst = arith.constant dense<0.0> : vector<16xf32>
      %c16 = arith.constant 16 : index
      %c2 = arith.constant 2 : index
      %c512 = arith.constant 512 : index
      %c128 = arith.constant 128 : index
      %c256 = arith.constant 256 : index
      %c320 = arith.constant 320 : index
      %c4 = arith.constant 4 : index
      scf.for %launch = %c0 to %c9223372036854775807 step %c1 {
        %taken = aie.objectfifo.acquire @c_out_0_3(Produce, 1) : !aie.objectfifosubview<memref<1024xf32>>
        %c_out = aie.objectfifo.subview.access %taken[0] : !aie.objectfifosubview<memref<1024xf32>> -> memref<1024xf32>
        scf.for %i = %c0 to %c64 step %c1 {
          %at = arith.muli %i, %c16 : index
          vector.store %cst, %acc_0_3[%at] : memref<1024xf32>, vector<16xf32>
        }
        scf.for %k = %c0 to %c2 step %c1 {
          %taken_1 = aie.objectfifo.acquire @a_1(Consume, 1) : !aie.objectfifosubview<memref<1024xbf16>>
          %a = aie.objectfifo.subview.access %taken_1[0] : !aie.objectfifosubview<memref<1024xbf16>> -> memref<1024xbf16>
          %taken_2 = aie.objectfifo.acquire @b_0(Consume, 1) : !aie.objectfifosubview<memref<1024xbf16>>
          %b = aie.objectfifo.subview.access %taken_2[0] : !aie.objectfifosubview<memref<1024xbf16>> -> memref<1024xbf16>
          scf.for %i_1 = %c0 to %c2 step %c1 {
            scf.for %i_2 = %c0 to %c2 step %c1 {
              %at_1 = arith.muli %i_1, %c512 : index
              %at_2 = arith.muli %i_2, %c128 : index
              %at_3 = arith.addi %at_1, %at_2 : index
              %row = vector.load %acc_0_3[%at_3] : memref<1024xf32>, vector<64xf32>
              %block = vector.shape_cast %row : vector<64xf32> to vector<8x8xf32>
              %at_4 = arith.addi %at_3, %c64 : index
              %row_1 = vector.load %acc_0_3[%at_4] : memref<1024xf32>, vector<64xf32>
              %block_1 = vector.shape_cast %row_1 : vector<64xf32> to vector<8x8xf32>
              %at_5 = arith.addi %at_3, %c256 : index
              %row_2 = vector.load %acc_0_3[%at_5] : memref<1024xf32>, vector<64xf32>
              %block_2 = vector.shape_cast %row_2 : vector<64xf32> to vector<8x8xf32>
              %at_6 = arith.addi %at_3, %c320 : index
              %row_3 = vector.load %acc_0_3[%at_6] : memref<1024xf32>, vector<64xf32>
              %block_3 = vector.shape_cast %row_3 : vector<64xf32> to vector<8x8xf32>
              %k_out:4 = scf.for %k_1 = %c0 to %c4 step %c1 iter_args(%k_acc = %block, %k_acc_1 = %block_1, %k_acc_2 = %block_2, %k_acc_3 = %block_3) -> (vector<8x8xf32>, vector<8x8xf32>, vector<8x8xf32>, vector<8x8xf32>) {
                %at_7 = arith.muli %k_1, %c64 : index
                %at_8 = arith.addi %at_1, %at_7 : index
                %row_4 = vector.load %a[%at_8] : memref<1024xbf16>, vector<64xbf16>
                %block_4 = vector.shape_cast %row_4 : vector<64xbf16> to vector<8x8xbf16>
                %at_9 = arith.addi %at_8, %c256 : index
                %row_5 = vector.load %a[%at_9] : memref<1024xbf16>, vector<64xbf16>
                %block_5 = vector.shape_cast %row_5 : vector<64xbf16> to vector<8x8xbf16>
                %at_10 = arith.muli %k_1, %c256 : index
                %at_11 = arith.addi %at_2, %at_10 : index
                %row_6 = vector.load %b[%at_11] : memref<1024xbf16>, vector<64xbf16>
                %block_6 = vector.shape_cast %row_6 : vector<64xbf16> to vector<8x8xbf16>
                %at_12 = arith.addi %at_11, %c64 : index
                %row_7 = vector.load %b[%at_12] : memref<1024xbf16>, vector<64xbf16>
                %block_7 = vector.shape_cast %row_7 : vector<64xbf16> to vector<8x8xbf16>
                %dot = vector.contract {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %block_4, %block_6, %k_acc : vector<8x8xbf16>, vector<8x8xbf16> into vector<8x8xf32>
                %dot_1 = vector.contract {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %block_4, %block_7, %k_acc_1 : vector<8x8xbf16>, vector<8x8xbf16> into vector<8x8xf32>
                %dot_2 = vector.contract {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %block_5, %block_6, %k_acc_2 : vector<8x8xbf16>, vector<8x8xbf16> into vector<8x8xf32>
                %dot_3 = vector.contract {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %block_5, %block_7, %k_acc_3 : vector<8x8xbf16>, vector<8x8xbf16> into vector<8x8xf32>
                scf.yield %dot, %dot_1, %dot_2, %dot_3 : vector<8x8xf32>, vector<8x8xf32>, vector<8x8xf32>, vector<8x8xf32>
              }
              %row_8 = vector.shape_cast %k_out#0 : vector<8x8xf32> to vector<64xf32>
              vector.store %row_8, %acc_0_3[%at_3] : memref<1024xf32>, vector<64xf32>
              %row_9 = vector.shape_cast %k_out#1 : vector<8x8xf32> to vector<64xf32>
              vector.store %row_9, %acc_0_3[%at_4] : memref<1024xf32>, vector<64xf32>
              %row_10 = vector.shape_cast %k_out#2 : vector<8x8xf32> to vector<64xf32>
              vector.store %row_10, %acc_0_3[%at_5] : memref<1024xf32>, vector<64xf32>
              %row_11 = vector.shape_cast %k_out#3 : vector<8x8xf32> to vector<64xf32>
              vector.store %row_11, %acc_0_3[%at_6] : memref<1024xf32>, vector<64xf32>
            }
          }
          aie.objectfifo.release @a_1(Consume, 1)
          aie.objectfifo.release @b_0(Consume, 1)
        }
        scf.for %i_3 = %c0 to %c64 step %c1 {
          %at_13 = arith.muli %i_3, %c16 : index
          %x = vector.load %acc_0_3[%at_13] : memref<1024xf32>, vector<16xf32>
          vector.store %x, %c_out[%at_13] : memref<1024xf32>, vector<16xf32>
        }
        aie.objectfifo.release @c_out_0_3(Produce, 1)
      }
      aie.end
    } {stack_size = 1024 : i32}
    %acc_1_2 = aie.buffer(%core_1_2) {sym_name = "acc_1_2"} : memref<1024xf32>
    aie.core(%core_1_2) {
      %c9223372036854775807 = arith.constant 9223372036854775807 : index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %cst = arith.constant dense<0.0> : vector<16xf32>
      %c16 = arith.constant 16 : index
      %c2 = arith.constant 2 : index
      %c512 = arith.constant 512 : index
      %c128 = arith.constant 128 : index
      %c256 = arith.constant 256 : index
      %c320 = arith.constant 320 : index
      %c4 = arith.constant 4 : index
      scf.for %launch = %c0 to %c9223372036854775807 step %c1 {
        %taken = aie.objectfifo.acquire @c_out_1_2(Produce, 1) : !aie.objectfifosubview<memref<1024xf32>>
        %c_out = aie.objectfifo.subview.access %taken[0] : !aie.objectfifosubview<memref<1024xf32>> -> memref<1024xf32>
        scf.for %i = %c0 to %c64 step %c1 {
          %at = arith.muli %i, %c16 : index
          vector.store %cst, %acc_1_2[%at] : memref<1024xf32>, vector<16xf32>
        }
        scf.for %k = %c0 to %c2 step %c1 {
          %taken_1 = aie.objectfifo.acquire @a_0(Consume, 1) : !aie.objectfifosubview<memref<1024xbf16>>
          %a = aie.objectfifo.subview.access %taken_1[0] : !aie.objectfifosubview<memref<1024xbf16>> -> memref<1024xbf16>
          %taken_2 = aie.objectfifo.acquire @b_1(Consume, 1) : !aie.objectfifosubview<memref<1024xbf16>>
          %b = aie.objectfifo.subview.access %taken_2[0] : !aie.objectfifosubview<memref<1024xbf16>> -> memref<1024xbf16>
          scf.for %i_1 = %c0 to %c2 step %c1 {
            scf.for %i_2 = %c0 to %c2 step %c1 {
              %at_1 = arith.muli %i_1, %c512 : index
              %at_2 = arith.muli %i_2, %c128 : index
              %at_3 = arith.addi %at_1, %at_2 : index
              %row = vector.load %acc_1_2[%at_3] : memref<1024xf32>, vector<64xf32>
              %block = vector.shape_cast %row : vector<64xf32> to vector<8x8xf32>
              %at_4 = arith.addi %at_3, %c64 : index
              %row_1 = vector.load %acc_1_2[%at_4] : memref<1024xf32>, vector<64xf32>
              %block_1 = vector.shape_cast %row_1 : vector<64xf32> to vector<8x8xf32>
              %at_5 = arith.addi %at_3, %c256 : index
              %row_2 = vector.load %acc_1_2[%at_5] : memref<1024xf32>, vector<64xf32>
              %block_2 = vector.shape_cast %row_2 : vector<64xf32> to vector<8x8xf32>
              %at_6 = arith.addi %at_3, %c320 : index
              %row_3 = vector.load %acc_1_2[%at_6] : memref<1024xf32>, vector<64xf32>
              %block_3 = vector.shape_cast %row_3 : vector<64xf32> to vector<8x8xf32>
              %k_out:4 = scf.for %k_1 = %c0 to %c4 step %c1 iter_args(%k_acc = %block, %k_acc_1 = %block_1, %k_acc_2 = %block_2, %k_acc_3 = %block_3) -> (vector<8x8xf32>, vector<8x8xf32>, vector<8x8xf32>, vector<8x8xf32>) {
                %at_7 = arith.muli %k_1, %c64 : index
                %at_8 = arith.addi %at_1, %at_7 : index
                %row_4 = vector.load %a[%at_8] : memref<1024xbf16>, vector<64xbf16>
                %block_4 = vector.shape_cast %row_4 : vector<64xbf16> to vector<8x8xbf16>
                %at_9 = arith.addi %at_8, %c256 : index
                %row_5 = vector.load %a[%at_9] : memref<1024xbf16>, vector<64xbf16>
                %block_5 = vector.shape_cast %row_5 : vector<64xbf16> to vector<8x8xbf16>
                %at_10 = arith.muli %k_1, %c256 : index
                %at_11 = arith.addi %at_2, %at_10 : index
                %row_6 = vector.load %b[%at_11] : memref<1024xbf16>, vector<64xbf16>
                %block_6 = vector.shape_cast %row_6 : vector<64xbf16> to vector<8x8xbf16>
                %at_12 = arith.addi %at_11, %c64 : index
                %row_7 = vector.load %b[%at_12] : memref<1024xbf16>, vector<64xbf16>
                %block_7 = vector.shape_cast %row_7 : vector<64xbf16> to vector<8x8xbf16>
                %dot = vector.contract {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %block_4, %block_6, %k_acc : vector<8x8xbf16>, vector<8x8xbf16> into vector<8x8xf32>
                %dot_1 = vector.contract {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %block_4, %block_7, %k_acc_1 : vector<8x8xbf16>, vector<8x8xbf16> into vector<8x8xf32>
                %dot_2 = vector.contract {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %block_5, %block_6, %k_acc_2 : vector<8x8xbf16>, vector<8x8xbf16> into vector<8x8xf32>
                %dot_3 = vector.contract {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %block_5, %block_7, %k_acc_3 : vector<8x8xbf16>, vector<8x8xbf16> into vector<8x8xf32>
                scf.yield %dot, %dot_1, %dot_2, %dot_3 : vector<8x8xf32>, vector<8x8xf32>, vector<8x8xf32>, vector<8x8xf32>
              }
              %row_8 = vector.shape_cast %k_out#0 : vector<8x8xf32> to vector<64xf32>
              vector.store %row_8, %acc_1_2[%at_3] : memref<1024xf32>, vector<64xf32>
              %row_9 = vector.shape_cast %k_out#1 : vector<8x8xf32> to vector<64xf32>
              vector.store %row_9, %acc_1_2[%at_4] : memref<1024xf32>, vector<64xf32>
              %row_10 = vector.shape_cast %k_out#2 : vector<8x8xf32> to vector<64xf32>
              vector.store %row_10, %acc_1_2[%at_5] : memref<1024xf32>, vector<64xf32>
              %row_11 = vector.shape_cast %k_out#3 : vector<8x8xf32> to vector<64xf32>
              vector.store %row_11, %acc_1_2[%at_6] : memref<1024xf32>, vector<64xf32>
            }
          }
          aie.objectfifo.release @a_0(Consume, 1)
          aie.objectfifo.release @b_1(Consume, 1)
        }
        scf.for %i_3 = %c0 to %c64 step %c1 {
          %at_13 = arith.muli %i_3, %c16 : index
          %x = vector.load %acc_1_2[%at_13] : memref<1024xf32>, vector<16xf32>
          vector.store %x, %c_out[%at_13] : memref<1024xf32>, vector<16xf32>
        }
        aie.objectfifo.release @c_out_1_2(Produce, 1)
      }
      aie.end
    } {stack_size = 1024 : i32}
    %acc_1_3 = aie.buffer(%core_1_3) {sym_name = "acc_1_3"} : memref<1024xf32>
    aie.core(%core_1_3) {
      %c9223372036854775807 = arith.constant 9223372036854775807 : index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %cst = arith.constant dense<0.0> : vector<16xf32>
      %c16 = arith.constant 16 : index
      %c2 = arith.constant 2 : index
      %c512 = arith.constant 512 : index
      %c128 = arith.constant 128 : index
      %c256 = arith.constant 256 : index
      %c320 = arith.constant 320 : index
      %c4 = arith.constant 4 : index
      scf.for %launch = %c0 to %c9223372036854775807 step %c1 {
        %taken = aie.objectfifo.acquire @c_out_1_3(Produce, 1) : !aie.objectfifosubview<memref<1024xf32>>
        %c_out = aie.objectfifo.subview.access %taken[0] : !aie.objectfifosubview<memref<1024xf32>> -> memref<1024xf32>
        scf.for %i = %c0 to %c64 step %c1 {
          %at = arith.muli %i, %c16 : index
          vector.store %cst, %acc_1_3[%at] : memref<1024xf32>, vector<16xf32>
        }
        scf.for %k = %c0 to %c2 step %c1 {
          %taken_1 = aie.objectfifo.acquire @a_1(Consume, 1) : !aie.objectfifosubview<memref<1024xbf16>>
          %a = aie.objectfifo.subview.access %taken_1[0] : !aie.objectfifosubview<memref<1024xbf16>> -> memref<1024xbf16>
          %taken_2 = aie.objectfifo.acquire @b_1(Consume, 1) : !aie.objectfifosubview<memref<1024xbf16>>
          %b = aie.objectfifo.subview.access %taken_2[0] : !aie.objectfifosubview<memref<1024xbf16>> -> memref<1024xbf16>
          scf.for %i_1 = %c0 to %c2 step %c1 {
            scf.for %i_2 = %c0 to %c2 step %c1 {
              %at_1 = arith.muli %i_1, %c512 : index
              %at_2 = arith.muli %i_2, %c128 : index
              %at_3 = arith.addi %at_1, %at_2 : index
              %row = vector.load %acc_1_3[%at_3] : memref<1024xf32>, vector<64xf32>
              %block = vector.shape_cast %row : vector<64xf32> to vector<8x8xf32>
              %at_4 = arith.addi %at_3, %c64 : index
              %row_1 = vector.load %acc_1_3[%at_4] : memref<1024xf32>, vector<64xf32>
              %block_1 = vector.shape_cast %row_1 : vector<64xf32> to vector<8x8xf32>
              %at_5 = arith.addi %at_3, %c256 : index
              %row_2 = vector.load %acc_1_3[%at_5] : memref<1024xf32>, vector<64xf32>
              %block_2 = vector.shape_cast %row_2 : vector<64xf32> to vector<8x8xf32>
              %at_6 = arith.addi %at_3, %c320 : index
              %row_3 = vector.load %acc_1_3[%at_6] : memref<1024xf32>, vector<64xf32>
              %block_3 = vector.shape_cast %row_3 : vector<64xf32> to vector<8x8xf32>
              %k_out:4 = scf.for %k_1 = %c0 to %c4 step %c1 iter_args(%k_acc = %block, %k_acc_1 = %block_1, %k_acc_2 = %block_2, %k_acc_3 = %block_3) -> (vector<8x8xf32>, vector<8x8xf32>, vector<8x8xf32>, vector<8x8xf32>) {
                %at_7 = arith.muli %k_1, %c64 : index
                %at_8 = arith.addi %at_1, %at_7 : index
                %row_4 = vector.load %a[%at_8] : memref<1024xbf16>, vector<64xbf16>
                %block_4 = vector.shape_cast %row_4 : vector<64xbf16> to vector<8x8xbf16>
                %at_9 = arith.addi %at_8, %c256 : index
                %row_5 = vector.load %a[%at_9] : memref<1024xbf16>, vector<64xbf16>
                %block_5 = vector.shape_cast %row_5 : vector<64xbf16> to vector<8x8xbf16>
                %at_10 = arith.muli %k_1, %c256 : index
                %at_11 = arith.addi %at_2, %at_10 : index
                %row_6 = vector.load %b[%at_11] : memref<1024xbf16>, vector<64xbf16>
                %block_6 = vector.shape_cast %row_6 : vector<64xbf16> to vector<8x8xbf16>
                %at_12 = arith.addi %at_11, %c64 : index
                %row_7 = vector.load %b[%at_12] : memref<1024xbf16>, vector<64xbf16>
                %block_7 = vector.shape_cast %row_7 : vector<64xbf16> to vector<8x8xbf16>
                %dot = vector.contract {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %block_4, %block_6, %k_acc : vector<8x8xbf16>, vector<8x8xbf16> into vector<8x8xf32>
                %dot_1 = vector.contract {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %block_4, %block_7, %k_acc_1 : vector<8x8xbf16>, vector<8x8xbf16> into vector<8x8xf32>
                %dot_2 = vector.contract {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %block_5, %block_6, %k_acc_2 : vector<8x8xbf16>, vector<8x8xbf16> into vector<8x8xf32>
                %dot_3 = vector.contract {indexing_maps = [#lhs, #rhs, #acc], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %block_5, %block_7, %k_acc_3 : vector<8x8xbf16>, vector<8x8xbf16> into vector<8x8xf32>
                scf.yield %dot, %dot_1, %dot_2, %dot_3 : vector<8x8xf32>, vector<8x8xf32>, vector<8x8xf32>, vector<8x8xf32>
              }
              %row_8 = vector.shape_cast %k_out#0 : vector<8x8xf32> to vector<64xf32>
              vector.store %row_8, %acc_1_3[%at_3] : memref<1024xf32>, vector<64xf32>
              %row_9 = vector.shape_cast %k_out#1 : vector<8x8xf32> to vector<64xf32>
              vector.store %row_9, %acc_1_3[%at_4] : memref<1024xf32>, vector<64xf32>
              %row_10 = vector.shape_cast %k_out#2 : vector<8x8xf32> to vector<64xf32>
              vector.store %row_10, %acc_1_3[%at_5] : memref<1024xf32>, vector<64xf32>
              %row_11 = vector.shape_cast %k_out#3 : vector<8x8xf32> to vector<64xf32>
              vector.store %row_11, %acc_1_3[%at_6] : memref<1024xf32>, vector<64xf32>
            }
          }
          aie.objectfifo.release @a_1(Consume, 1)
          aie.objectfifo.release @b_1(Consume, 1)
        }
        scf.for %i_3 = %c0 to %c64 step %c1 {
          %at_13 = arith.muli %i_3, %c16 : index
          %x = vector.load %acc_1_3[%at_13] : memref<1024xf32>, vector<16xf32>
          vector.store %x, %c_out[%at_13] : memref<1024xf32>, vector<16xf32>
        }
        aie.objectfifo.release @c_out_1_3(Produce, 1)
      }
      aie.end
    } {stack_size = 1024 : i32}
    aie.runtime_sequence(%a_host: memref<4096xbf16>, %b_host: memref<4096xbf16>, %c_host: memref<4096xf32>) {
      aiex.npu.dma_memcpy_nd(%a_host[0, 0, 0, 0][1, 2, 32, 32][0, 32, 64, 1]) {id = 0 : i64, issue_token = true, metadata = @a_0_l2} : memref<4096xbf16>
      aiex.npu.dma_memcpy_nd(%a_host[0, 0, 0, 2048][1, 2, 32, 32][0, 32, 64, 1]) {id = 0 : i64, issue_token = true, metadata = @a_1_l2} : memref<4096xbf16>
      aiex.npu.dma_memcpy_nd(%b_host[0, 0, 0, 0][1, 1, 64, 32][0, 0, 64, 1]) {id = 1 : i64, issue_token = true, metadata = @b_0_l2} : memref<4096xbf16>
      aiex.npu.dma_memcpy_nd(%b_host[0, 0, 0, 32][1, 1, 64, 32][0, 0, 64, 1]) {id = 1 : i64, issue_token = true, metadata = @b_1_l2} : memref<4096xbf16>
      aiex.npu.dma_memcpy_nd(%c_host[0, 0, 0, 0][1, 1, 64, 32][0, 0, 64, 1]) {id = 2 : i64, issue_token = true, metadata = @c_out_0_l2} : memref<4096xf32>
      aiex.npu.dma_memcpy_nd(%c_host[0, 0, 0, 32][1, 1, 64, 32][0, 0, 64, 1]) {id = 2 : i64, issue_token = true, metadata = @c_out_1_l2} : memref<4096xf32>
      aiex.npu.dma_wait {symbol = @a_0_l2}
      aiex.npu.dma_wait {symbol = @a_1_l2}
      aiex.npu.dma_wait {symbol = @b_0_l2}
      aiex.npu.dma_wait {symbol = @b_1_l2}
      aiex.npu.dma_wait {symbol = @c_out_0_l2}
      aiex.npu.dma_wait {symbol = @c_out_1_l2}
    }
  }
}
